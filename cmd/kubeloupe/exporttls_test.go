package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	spans "github.com/kubeloupe/kubeloupe/test/collector"
)

// TestExportTLS reads the files that the flag and OpenTelemetry's variables name.
func TestExportTLS(t *testing.T) {
	dir := t.TempDir()
	ca, err := spans.NewCA(dir, "ca")
	if err != nil {
		t.Fatal(err)
	}
	own, err := ca.Issue("node")
	if err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const (
		caVar, tracesCA  = "OTEL_EXPORTER_OTLP_CERTIFICATE", "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE"
		certVar, keyVar  = "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "OTEL_EXPORTER_OTLP_CLIENT_KEY"
		missing, wantKey = "/missing.pem", "must be set together"
	)
	for name, c := range map[string]struct {
		flag      string
		env       map[string]string
		wantCA    bool
		wantCerts int
		wantErr   string
	}{
		"nothing":                  {},
		"flag":                     {flag: ca.File, wantCA: true},
		"variable":                 {env: map[string]string{caVar: ca.File}, wantCA: true},
		"the flag counts":          {flag: ca.File, env: map[string]string{caVar: missing}, wantCA: true},
		"the variable of traces":   {env: map[string]string{tracesCA: ca.File, caVar: missing}, wantCA: true},
		"no such file":             {env: map[string]string{caVar: missing}, wantErr: caVar + ": open " + missing},
		"no certificate":           {flag: empty, wantErr: "--otlp-ca-file: " + empty + " has no certificate"},
		"a directory":              {flag: dir, wantErr: "--otlp-ca-file: "},
		"certificate of its own":   {flag: ca.File, env: map[string]string{certVar: own.Cert, keyVar: own.Key}, wantCA: true, wantCerts: 1},
		"certificate without key":  {env: map[string]string{certVar: own.Cert}, wantErr: wantKey},
		"key without certificate":  {env: map[string]string{keyVar: own.Key}, wantErr: wantKey},
		"key of another":           {env: map[string]string{certVar: ca.File, keyVar: own.Key}, wantErr: certVar + ", " + keyVar},
		"no such key":              {env: map[string]string{certVar: own.Cert, keyVar: missing}, wantErr: keyVar + ": open " + missing},
		"no such own certificate":  {env: map[string]string{certVar: missing, keyVar: own.Key}, wantErr: certVar + ": open " + missing},
		"an own one that is empty": {env: map[string]string{certVar: empty, keyVar: own.Key}, wantErr: certVar},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range []string{caVar, tracesCA, certVar, keyVar, "OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE", "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY"} {
				t.Setenv(v, c.env[v])
			}
			got, err := exportFiles(c.flag).config()
			if (err != nil) != (c.wantErr != "") || err != nil && !strings.Contains(err.Error(), c.wantErr) {
				t.Fatalf("error %v, want %q", err, c.wantErr)
			}
			if err == nil && ((got.RootCAs != nil) != c.wantCA || len(got.Certificates) != c.wantCerts) {
				t.Errorf("CA %t, %d certificates; want %t, %d", got.RootCAs != nil, len(got.Certificates), c.wantCA, c.wantCerts)
			}
		})
	}
}
