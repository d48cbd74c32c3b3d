"""Turn Python projects into verified benchmark instances, in nine steps that read and write plain files."""
