package kubeclient

import (
	"net/http"
	"strings"

	"github.com/kubeloupe/kubeloupe/agent/redact"
)

// disclosing tells the vault which token the server is shown: a plugin's, or one of a file that is read again, is known nowhere
// else here. The server, or a proxy before it, may quote it.
type disclosing struct {
	next    http.RoundTripper
	secrets *redact.Vault
}

func disclose(secrets *redact.Vault) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper { return &disclosing{next, secrets} }
}

// RoundTrip implements http.RoundTripper.
func (d *disclosing) RoundTrip(req *http.Request) (*http.Response, error) {
	if token, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer "); ok {
		d.secrets.Learn(redact.Node, "token for the API server", token)
	}
	return d.next.RoundTrip(req)
}

// WrappedRoundTripper lets client-go find the transport.
func (d *disclosing) WrappedRoundTripper() http.RoundTripper { return d.next }
