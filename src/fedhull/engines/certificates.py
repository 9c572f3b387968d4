"""Certificates in kits: their owners and last days."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import NameOID

from fedhull.disk import read_bytes
from fedhull.errors import InvalidInput

VALID_DAYS = 360
WARN_DAYS = 30  # in time to ask for new kits


@dataclass(frozen=True)
class Certificate:
    """A certificate's file, owner and last day."""

    name: str
    owner: str
    valid_until: datetime

    def days_left(self, now: datetime | None = None) -> int:
        """Whole days left; negative if it has expired."""
        return (self.valid_until - (now or datetime.now(UTC))) // timedelta(days=1)

    def describe(self) -> str:
        """The certificate in plain words."""
        left = self.days_left()
        when = f"{self.valid_until:%Y-%m-%d}"
        return f"{self.name} ({self.owner}): " + (
            f"expired on {when}" if left < 0 else f"valid until {when}, {left} days"
        )

    def warning(self) -> str | None:
        """Advice for a certificate that expires soon."""
        left = self.days_left()
        if left >= WARN_DAYS:
            return None
        when = f"expired on {self.valid_until:%Y-%m-%d}" if left < 0 else f"ends in {left} days"
        return f"the certificate {self.name} {when}; ask whoever made the kits for new ones"

    def to_json(self) -> dict[str, str | int]:
        """Encode for scripts."""
        return {
            "name": self.name,
            "owner": self.owner,
            "valid_until": self.valid_until.isoformat(),
            "days_left": self.days_left(),
        }


def read_certificate(folder: Path, name: str) -> Certificate:
    """Read a certificate in a kit."""
    pem = read_bytes(folder / name)
    try:
        return _described(x509.load_pem_x509_certificate(pem), name)
    except ValueError:
        raise InvalidInput(f"{folder / name} is not a certificate; ask for the kit again") from None


def shown_certificate(der: bytes) -> Certificate:
    """The certificate presented by a server."""
    return _described(x509.load_der_x509_certificate(der), "of the server")


def _described(certificate: x509.Certificate, name: str) -> Certificate:
    owners = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    owner = str(owners[0].value) if owners else ""
    return Certificate(name, owner, certificate.not_valid_after_utc)
