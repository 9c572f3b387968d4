"""Flower's part of a kit: the server's address, certificates of the study's own authority, and a
key for each site's node."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fedhull.disk import read_bytes, read_text, write_bytes, write_json
from fedhull.errors import InvalidInput
from fedhull.kits.files import decoded
from fedhull.kits.kit import Kit
from fedhull.kits.provision import AUTHORITY, SERVER, Kits

CA, CERTIFICATE, ADDRESS = "ca.pem", "server.crt", "address.txt"
KEY, NODE_KEY, NODES = "server.key", "node.key", "nodes.json"
_PEM = serialization.Encoding.PEM


def server_address(kit: Kit) -> tuple[str, int]:
    """Host and port in the kit."""
    path = kit.folder / ADDRESS
    if not path.is_file():
        raise InvalidInput(
            f"{path} is missing; ask for the kit again, or, if it was not made for Flower, leave "
            f"--engine out"
        )
    host, _, port = read_text(path).strip().rpartition(":")
    if not (host and port.isdecimal() and 0 < int(port) < 65536):
        raise InvalidInput(f"{path} must be HOST:PORT; ask for the kit again")
    return host, int(port)


def add_certificates(kits: Kits, host: str, port: int, days: int) -> None:
    """Give every kit the authority's certificate and the server's address, the coordinator's the
    server's certificate and the nodes' public keys, each site's its node key. Certificates are
    valid for `days`."""
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer, until = "fedhull study", datetime.now(UTC) + timedelta(days=days)
    authority = _certificate(issuer, authority_key, authority_key, issuer, None, until)
    certificate = _certificate(host, key, authority_key, issuer, host, until)
    for name in (SERVER, *kits.study.clients):
        write_bytes(kits.folder / name / CA, authority.public_bytes(_PEM))
        write_bytes(kits.folder / name / ADDRESS, f"{host}:{port}\n".encode())
    write_bytes(kits.folder / SERVER / CERTIFICATE, certificate.public_bytes(_PEM))
    _write_key(kits.folder / SERVER / KEY, key)
    nodes = {}
    for name in kits.study.clients:
        node = ec.generate_private_key(ec.SECP384R1())
        _write_key(kits.folder / name / NODE_KEY, node, serialization.PrivateFormat.OpenSSH)
        nodes[name] = (
            node.public_key()
            .public_bytes(_PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
            .decode()
        )
    write_json(kits.folder / SERVER / NODES, nodes)
    (kits.folder / AUTHORITY).mkdir(mode=0o700)
    _write_key(kits.folder / AUTHORITY / "ca.key", authority_key)


def read_nodes(kit: Kit) -> dict[str, str]:
    """The public keys of the sites' nodes, from the coordinator's kit."""
    complaint = f"{kit.folder / NODES} is damaged; provision again"
    nodes = decoded(read_bytes(kit.folder / NODES), dict[str, str], complaint)
    if nodes.keys() != kit.study.clients.keys():
        raise InvalidInput(
            f"{kit.folder / NODES} must have a key for each site of the study and no other; "
            f"provision again"
        )
    return nodes


def _certificate(
    subject: str,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    issuer: str,
    host: str | None,
    until: datetime,
) -> x509.Certificate:
    """A certificate for a host, or without one for the authority."""
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - timedelta(minutes=5))
        .not_valid_after(until)
        .add_extension(x509.BasicConstraints(ca=host is None, path_length=None), critical=True)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.KeyUsage(**_usage(authority=host is None)), critical=True)
    )
    if host is not None:
        builder = builder.add_extension(
            x509.SubjectAlternativeName([_host_name(host), *_LOOPBACK]), critical=False
        ).add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    return builder.sign(signer, hashes.SHA256())


# Flower's own processes at the server use the loopback interface.
_LOOPBACK = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]


def _host_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(authority: bool) -> dict[str, bool]:
    unused = "content_commitment key_encipherment data_encipherment key_agreement encipher_only"
    return dict.fromkeys([*unused.split(), "decipher_only"], False) | {
        "digital_signature": not authority,
        "key_cert_sign": authority,
        "crl_sign": authority,
    }


def _write_key(
    path: Path,
    key: ec.EllipticCurvePrivateKey,
    form: serialization.PrivateFormat = serialization.PrivateFormat.PKCS8,
) -> None:
    pem = key.private_bytes(_PEM, form, serialization.NoEncryption())
    write_bytes(path, pem, mode=0o600)
