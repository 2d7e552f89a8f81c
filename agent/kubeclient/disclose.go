package kubeclient

import (
	"net/http"
	"strings"

	"github.com/kubeloupe/kubeloupe/agent/redact"
)

// disclosing adds the tokens in requests to the vault: a plugin's token, or one from a file that is read again, is not
// known anywhere else. The server, or a proxy before it, may quote it.
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

// WrappedRoundTripper lets client-go find the wrapped transport.
func (d *disclosing) WrappedRoundTripper() http.RoundTripper { return d.next }
