"""Keys for Flower: a certificate authority of the study's own, the server's certificate, and a key
for each site's node."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fedhull.disk import read_bytes, write_bytes, write_json
from fedhull.engines.flower.address import ADDRESS, CA, CERTIFICATE
from fedhull.errors import InvalidInput
from fedhull.kits.kit import Kit
from fedhull.kits.provision import AUTHORITY, SERVER, Kits

KEY, NODE_KEY, NODES = "server.key", "node.key", "nodes.json"


def add_certificates(kits: Kits, host: str, port: int, days: int) -> None:
    """Give the coordinator's kit a certificate for its host and the public keys of the sites'
    nodes, each site's kit its node's key, and every kit the authority's certificate and the
    server's address. Certificates are valid for `days`."""
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer, until = "fedhull study", datetime.now(UTC) + timedelta(days=days)
    authority = _certificate(issuer, authority_key, authority_key, issuer, None, until)
    certificate = _certificate(host, key, authority_key, issuer, host, until)
    for name in (SERVER, *kits.study.clients):
        write_bytes(kits.folder / name / CA, _pem(authority))
        write_bytes(kits.folder / name / ADDRESS, f"{host}:{port}\n".encode())
    write_bytes(kits.folder / SERVER / CERTIFICATE, _pem(certificate))
    _write_key(kits.folder / SERVER / KEY, key)
    nodes = {}
    for name in kits.study.clients:
        node = ec.generate_private_key(ec.SECP384R1())
        _write_key(kits.folder / name / NODE_KEY, node, serialization.PrivateFormat.OpenSSH)
        nodes[name] = _public_pem(node)
    write_json(kits.folder / SERVER / NODES, nodes)
    (kits.folder / AUTHORITY).mkdir(mode=0o700)
    _write_key(kits.folder / AUTHORITY / "ca.key", authority_key)


def read_nodes(kit: Kit) -> dict[str, str]:
    """The public keys of the sites' nodes, from the coordinator's kit."""
    try:
        nodes = msgspec.json.decode(read_bytes(kit.folder / NODES), type=dict[str, str])
    except msgspec.MsgspecError:
        raise InvalidInput(f"{kit.folder / NODES} is damaged; provision again") from None
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
    """A certificate for a host, or, without one, for the authority itself."""
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
        .add_extension(_usage(authority=host is None), critical=True)
    )
    if host is not None:
        builder = builder.add_extension(
            x509.SubjectAlternativeName([_host_name(host), *_LOOPBACK]), critical=False
        ).add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    return builder.sign(signer, hashes.SHA256())


# Flower's own parts at the server talk to each other over the loopback interface.
_LOOPBACK = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]


def _host_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _public_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return (
        key.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )


def _write_key(
    path: Path,
    key: ec.EllipticCurvePrivateKey,
    form: serialization.PrivateFormat = serialization.PrivateFormat.PKCS8,
) -> None:
    pem = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    write_bytes(path, pem, mode=0o600)
