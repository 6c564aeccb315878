"""What every block costs, from public sizes alone: trips, ciphertexts, bytes and operations.

The evaluator re-randomises every ciphertext that it sends and the key holder decrypts it; the
key holder encrypts every ciphertext of its answers. So two numbers, `asked` and `answered`, count
ciphertexts on the wire, re-randomisations, decryptions and encryptions at once. Beside them count
`powers`, a ciphertext to a plaintext exponent (one term of a product of such powers counts one),
and `shifted`, a value that is moved into its slot by as many squarings as a slot has bits.
Products of two ciphertexts are cheaper than any of these by a factor of ten or more.

A test runs every block on counting arithmetic and compares.
"""

from dataclasses import dataclass

from sottovoce.numbers.packing import Slots
from sottovoce.paper.inversion.hyperpower import InvPlan
from sottovoce.paper.logarithm import LogPlan
from sottovoce.protocols.two_party.comparison import SignPlan
from sottovoce.protocols.two_party.division import DivPlan
from sottovoce.protocols.two_party.exponential import ExpPlan
from sottovoce.protocols.two_party.solve import SolvePlan

# A message's tag and fields, and the head of a tensor (key, layout, scale), stay below these.
MESSAGE_BYTES = 64
TENSOR_BYTES = 256


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a block, or of several: costs add, and multiply by a count."""

    trips: int = 0
    asked: int = 0
    answered: int = 0
    powers: int = 0
    shifted: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.trips + other.trips,
            self.asked + other.asked,
            self.answered + other.answered,
            self.powers + other.powers,
            self.shifted + other.shifted,
        )

    def __mul__(self, count: int) -> "Cost":
        return Cost(
            self.trips * count,
            self.asked * count,
            self.answered * count,
            self.powers * count,
            self.shifted * count,
        )

    @property
    def rerandomisations(self) -> int:
        """By the evaluator, without the secret key."""
        return self.asked

    @property
    def decryptions(self) -> int:
        """By the key holder."""
        return self.asked

    @property
    def encryptions(self) -> int:
        """By the key holder, with the secret key."""
        return self.answered

    def ciphertext_bytes(self, key_bits: int) -> int:
        """What the ciphertexts take on the wire; heads and tags come on top."""
        return (self.asked + self.answered) * key_bits // 4


def multiply(values: int) -> Cost:
    """S.Mult of so many values."""
    return Cost(1, 2 * values, values, 2 * values)


def inner_product(length: int) -> Cost:
    """S.InnerProd."""
    return Cost(1, 2 * length, 1, 2 * length)


def outer_product(column: int, row: int) -> Cost:
    """S.OuterProd."""
    return Cost(1, column + row, column * row, 2 * column * row)


def fix(height: int, width: int, slots: Slots | None) -> Cost:
    """Masking a fixed operand."""
    return Cost(1, height * _blocks(width, slots))


def times_fixed(rows: int, height: int, width: int, slots: Slots | None) -> Cost:
    """S.MatProd of so many rows with a fixed operand."""
    blocks = _blocks(width, slots)
    return Cost(1, rows * height, rows * blocks, 2 * rows * height * blocks)


def truncate(values: int, slots: Slots | None) -> Cost:
    """S.Trunc."""
    return Cost(1, _blocks(values, slots), values)


def cut_times_fixed(height: int, slots: Slots, width: int, operand_slots: Slots | None) -> Cost:
    """S.MatProd of a packed vector that is cut on its way."""
    own, blocks = _blocks(height, slots), _blocks(width, operand_slots)
    return Cost(1, own, height + own + blocks, 2 * height * blocks)


def cut_and_multiply(lines: int, length: int, slots: Slots) -> Cost:
    """S.Mult of packed vectors that are cut on their way: the first with every one."""
    blocks = _blocks(length, slots)
    return Cost(1, lines * blocks, lines * (length + blocks), (2 * lines - 1) * length)


def exponential(length: int, plan: ExpPlan, slots: Slots) -> Cost:
    """S.Exp."""
    return cut_and_multiply(1, length, slots) * plan.squarings


def divide(length: int, plan: DivPlan, slots: Slots) -> Cost:
    """S.Div, or reciprocals."""
    return Cost(powers=2 * _blocks(length, slots)) + _settle(length, plan.steps, slots)


def _settle(length: int, steps: int, slots: Slots) -> Cost:
    """Goldschmidt's steps: each multiplies both lines by 2 and by α."""
    return (cut_and_multiply(2, length, slots) + Cost(powers=4 * _blocks(length, slots))) * steps


def logarithm(length: int, plan: LogPlan, slots: Slots) -> Cost:
    """S.Log."""
    values = length * len(plan.nodes)
    spread = Cost(powers=values, shifted=values)
    return spread + _settle(values, plan.course.steps, slots) + truncate(values, slots)


def signs(numbers: int, plan: SignPlan, plaintext_bits: int, slots: Slots | None = None) -> Cost:
    """S.Sign, the signs opened to the evaluator; `slots` are those of packed numbers."""
    return _bits(numbers, plan, slots) + Cost(1, _tests(numbers, plan, plaintext_bits) + numbers)


def sealed_signs(
    numbers: int, plan: SignPlan, plaintext_bits: int, slots: Slots | None = None
) -> Cost:
    """S.Sign, the signs left encrypted."""
    tests = _tests(numbers, plan, plaintext_bits)
    return _bits(numbers, plan, slots) + Cost(1, tests, numbers, numbers)


def _bits(numbers: int, plan: SignPlan, slots: Slots | None) -> Cost:
    tests = numbers * plan.count
    return Cost(1, _blocks(numbers, slots), numbers * (plan.bits + 1), tests, tests)


def _tests(numbers: int, plan: SignPlan, plaintext_bits: int) -> int:
    return plan.slots(plaintext_bits).plaintexts_for(numbers * plan.count)


def solve(plan: SolvePlan, slots: Slots) -> Cost:
    """S.Solve."""
    size, blocks = plan.size, _blocks(plan.size, slots)
    step = cut_times_fixed(size, slots, size, slots) + Cost(powers=2 * blocks)
    return fix(size, size, slots) + step * plan.steps + Cost(powers=-blocks)


def check_residual(plan: SolvePlan, slots: Slots, sign: SignPlan, plaintext_bits: int) -> Cost:
    """The last check of S.Solve: S.Trunc, S.InnerProd and S.Sign of one number."""
    size = plan.size
    return truncate(size, slots) + inner_product(size) + signs(1, sign, plaintext_bits)


def invert(plan: InvPlan, slots: Slots) -> Cost:
    """S.Inv: every product takes two sums of d powers for each of a matrix's ciphertexts."""
    matrix = plan.size * _blocks(plan.size, slots)
    load = _coupled(plan.steps) if plan.order == 2 else _uncoupled(plan.steps, plan.order)
    products = Cost(answered=plan.products, powers=2 * plan.size * plan.products)
    return Cost(trips=plan.trips) + (load + products) * matrix


def _matrices(parts: int, count: int, multiples: int) -> Cost:
    """In units of a matrix: parts that are sent, matrices that come back by rows and columns."""
    return Cost(asked=parts, answered=2 * count, powers=multiples)


def _coupled(steps: int) -> Cost:
    """M comes in one part at first, X in the second step; the last trip turns X upright."""
    ends = _matrices(2, 2, 3)
    return ends if steps == 1 else ends + _matrices(4, 2, 6) * (steps - 1)


def _uncoupled(steps: int, order: int) -> Cost:
    """The first step multiplies Â with itself, each later one Â·X, E² and X·(I + …)."""
    series = _matrices(0, 0, 1) if order == 3 else _matrices(5, 3, 2)
    ends = _matrices(1, 1, 2) + _matrices(2, 1, 1)
    return ends + series * steps + _matrices(8, 5, 2) * (steps - 1)


def _blocks(values: int, slots: Slots | None) -> int:
    """How many ciphertexts a line of values fills."""
    return values if slots is None else slots.plaintexts_for(values)
