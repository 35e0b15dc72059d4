"""``python -m kbapp``: the command line, for who has the interpreter and not the script's path."""

from kbapp.surfaces.cli import main

if __name__ == "__main__":
    main(prog_name="kbapp")
