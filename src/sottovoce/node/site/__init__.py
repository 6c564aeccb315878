"""A site's machine: it joins studies, asks for labels, hands over and leaves."""
