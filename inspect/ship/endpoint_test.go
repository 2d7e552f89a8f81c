package ship_test

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/ship"
)

func TestParseEndpoint(t *testing.T) {
	for endpoint, want := range map[string]struct {
		address string
		secure  bool
		bad     bool
	}{
		"localhost:4317":                        {address: "localhost:4317"},
		"collector.tracing":                     {address: "collector.tracing"},
		"dns:///collector:4317":                 {address: "dns:///collector:4317"},
		"unix:///run/otel.sock":                 {address: "unix:///run/otel.sock"},
		"http://collector:4317":                 {address: "collector:4317"},
		"http://collector:4317/":                {address: "collector:4317"},
		"https://collector:4317":                {address: "collector:4317", secure: true},
		"https://[::1]:4317":                    {address: "[::1]:4317", secure: true},
		"https://collector.example.com":         {address: "collector.example.com", secure: true},
		"https://collector:4317/v1/traces":      {bad: true},
		"https://user:password@collector:4317":  {bad: true},
		"https://collector:4317?insecure=false": {bad: true},
		"https://":                              {bad: true},
		"https://:4317":                         {bad: true},
		"ftp://collector:4317":                  {bad: true},
		"":                                      {bad: true},
	} {
		address, secure, err := ship.ParseEndpoint(endpoint)
		if (err != nil) != want.bad || err == nil && (address != want.address || secure != want.secure) {
			t.Errorf("%q: %q, TLS %t, %v", endpoint, address, secure, err)
		}
	}
}
