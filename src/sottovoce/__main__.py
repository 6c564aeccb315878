"""`python -m sottovoce` is the command `sottovoce`."""

from sottovoce.cli import run_process

if __name__ == "__main__":
    run_process()
