"""An autoencoder in the disc, which joins `fedhull embed --method` as any other package's could."""
