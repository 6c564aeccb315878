"""`python -m sottovoce` is the command `sottovoce`."""

from sottovoce.cli import main

if __name__ == "__main__":
    main()
