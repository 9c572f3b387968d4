"""Certificates in kits: whose they are, and how long they are valid."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import NameOID

from fedhull.disk import read_bytes
from fedhull.errors import InvalidInput

VALID_DAYS = 360
# So many days before its end somebody should ask for new kits.
WARN_DAYS = 30


@dataclass(frozen=True)
class Certificate:
    """What a certificate says: its owner, and until when it is valid."""

    name: str
    owner: str
    valid_until: datetime

    def days_left(self, now: datetime | None = None) -> int:
        """Whole days until it ends; negative if it has."""
        return (self.valid_until - (now or datetime.now(UTC))) // timedelta(days=1)

    def describe(self) -> str:
        """In plain words."""
        left = self.days_left()
        when = f"{self.valid_until:%Y-%m-%d}"
        return f"{self.name} ({self.owner}): " + (
            f"expired on {when}" if left < 0 else f"valid until {when}, {left} days"
        )

    def warning(self) -> str | None:
        """What to do about it, if there is something to do."""
        left = self.days_left()
        if left >= WARN_DAYS:
            return None
        when = f"expired on {self.valid_until:%Y-%m-%d}" if left < 0 else f"ends in {left} days"
        return f"the certificate {self.name} {when}; ask whoever made the kits for new ones"

    def to_json(self) -> dict[str, str | int]:
        """For scripts."""
        return {
            "name": self.name,
            "owner": self.owner,
            "valid_until": self.valid_until.isoformat(),
            "days_left": self.days_left(),
        }


def read_certificate(folder: Path, name: str) -> Certificate:
    """A certificate in a kit."""
    try:
        found = x509.load_pem_x509_certificate(read_bytes(folder / name))
    except ValueError as problem:
        if isinstance(problem, InvalidInput):
            raise
        raise InvalidInput(f"{folder / name} is not a certificate; ask for the kit again") from None
    return _described(found, name)


def shown_certificate(der: bytes) -> Certificate:
    """The certificate that a server has shown."""
    return _described(x509.load_der_x509_certificate(der), "of the server")


def _described(found: x509.Certificate, name: str) -> Certificate:
    owners = found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return Certificate(name, str(owners[0].value) if owners else "", found.not_valid_after_utc)
