"""What most tests share: seeded entropy, toy keys, studies, a network, noise; the rest in rooms."""
