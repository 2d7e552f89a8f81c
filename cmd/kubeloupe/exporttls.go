package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

// maxPEM is how large a file with certificates may be, in bytes.
const maxPEM = 1 << 20

// exportTLS has the files for TLS to a collector.
type exportTLS struct {
	ca, cert, key named
}

// named is a file, and what names it.
type named struct{ by, file string }

// exportFiles returns the files of TLS: ca is that of --otlp-ca-file, the rest is named by OpenTelemetry's variables.
func exportFiles(ca string) exportTLS {
	e := exportTLS{
		ca:   firstSet("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE"),
		cert: firstSet("OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"),
		key:  firstSet("OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY", "OTEL_EXPORTER_OTLP_CLIENT_KEY"),
	}
	if ca != "" {
		e.ca = named{"--otlp-ca-file", ca}
	}
	return e
}

// firstSet returns the first variable that is set.
func firstSet(variables ...string) named {
	for _, v := range variables {
		if file := os.Getenv(v); file != "" {
			return named{v, file}
		}
	}
	return named{}
}

// config reads the files. Without a CA, those of the system are trusted.
func (e exportTLS) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if e.ca.file != "" {
		text, err := wholefile.Read(e.ca.file, maxPEM)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.ca.by, err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: %s has no certificate in PEM", e.ca.by, e.ca.file)
		}
	}
	if e.cert.file == "" && e.key.file == "" {
		return c, nil
	}
	if e.cert.file == "" || e.key.file == "" {
		return nil, errors.New("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY must be set together")
	}
	cert, err := wholefile.Read(e.cert.file, maxPEM)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.cert.by, err)
	}
	key, err := wholefile.Read(e.key.file, maxPEM)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.key.by, err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", e.cert.by, e.key.by, err)
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}
