"""A site's machine: joins studies, asks for labels, hands models over and leaves."""
