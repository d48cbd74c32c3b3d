"""What is read out of a page is what stands there; a block that is overlooked would never be tried."""

from tests.documentation.pages import name_anchors, read_blocks, read_links, read_spans, split_commands

PAGE = """# A page

<!-- not run "two": needs a key -->
<!-- not run "three": needs a server -->
```sh
dlbench one \\
  --more
dlbench two
dlbench three
```
1. In a list:
   ```sh
   dlbench four
   ```
<!-- not run: takes an hour -->
```sh
dlbench five
```
```
no language
```
## Why `this`, and how?
`a span` [a link](other.md#part) `[no](link)`
"""


def write(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.documentation.pages.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    return page


def test_blocks_are_found_wherever_they_stand_with_what_is_not_run(tmp_path, monkeypatch):
    blocks = read_blocks(write(tmp_path, monkeypatch))
    assert [block.where for block in blocks] == ["page.md:5", "page.md:12", "page.md:16", "page.md:19"]
    assert [block.is_shell for block in blocks] == [True, True, True, False]
    assert [block.to_run for block in blocks[:3]] == [["dlbench one   --more"], ["dlbench four"], []]
    assert blocks[2].excuses == (("", "takes an hour"),)


def test_links_spans_and_anchors_are_those_of_the_text(tmp_path, monkeypatch):
    page = write(tmp_path, monkeypatch)
    assert read_links(page) == ["other.md#part"]
    assert read_spans(page) == ["this", "a span", "[no](link)"]
    assert name_anchors(page) == {"a-page", "why-this-and-how"}


def test_a_line_of_shell_is_split_into_its_commands():
    line = "dlbench list --json > all.json && dlbench show 'a b' | less  # why"
    assert split_commands(line) == [["dlbench", "list", "--json"], ["dlbench", "show", "a b"], ["less"]]
