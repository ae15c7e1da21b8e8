"""HTML pages from the templates beside this file; nothing is fetched to read them."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

__all__ = ["write_page"]


def write_page(path: Path, template: str, **values: object) -> None:
    """Fill a template and write the page; its folder is made.

    Args:
        path: HTML file to write.
        template: name of the file beside this one.
        values: what stands in it, escaped; one that is missing is an error.
    """
    loader = FileSystemLoader(Path(__file__).parent)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    page = environment.get_template(template).render(values)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
