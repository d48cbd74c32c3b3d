"""What a candidate costs beyond being right: time, memory and upkeep, beside the reference's."""
