"""The task of an encoder study: sites train one encoder together, round after round."""
