package ship

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// CheckEndpoint returns what is wrong with an address. Upstream: component-base/tracing/api/v1/config.go.
func CheckEndpoint(endpoint string) error {
	whole := endpoint
	if !strings.Contains(whole, "//") {
		whole = "dns://" + whole
	}
	u, err := url.Parse(whole)
	if err != nil || endpoint == "" || !slices.Contains([]string{"dns", "unix", "unix-abstract"}, u.Scheme) {
		return fmt.Errorf("%q must be HOST:PORT or a dns, unix or unix-abstract URL", endpoint)
	}
	return nil
}

// ParseEndpoint returns the address for Dial of an endpoint that may also be an http or https URL, as of OpenTelemetry's exporters, and whether TLS
// is wanted.
func ParseEndpoint(endpoint string) (address string, secure bool, err error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		if err = CheckEndpoint(endpoint); err != nil {
			err = fmt.Errorf("%q must be HOST:PORT, an http or https URL, or a dns, unix or unix-abstract URL", endpoint)
		}
		return endpoint, false, err
	}
	if u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", false, fmt.Errorf("%q must be %s://HOST:PORT: spans are sent over gRPC, whose path is fixed", endpoint, u.Scheme)
	}
	return u.Host, u.Scheme == "https", nil
}
