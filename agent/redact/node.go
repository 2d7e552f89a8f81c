package redact

import (
	"os"
	"slices"
)

// LearnProxies learns the credentials in the proxy URLs of the process's environment, which the user who starts the agent writes.
func (v *Vault) LearnProxies() {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		v.Learn(Node, name, URLSecrets(os.Getenv(name))...)
	}
}

// common are headers that every client sends. They are not secret.
var common = []string{"Accept", "Accept-Encoding", "Accept-Language", "Cache-Control", "Content-Type", "Host", "User-Agent"}

// LearnRequest learns what a web server receives from the agent: the credentials of the URL, and all headers except the
// common ones.
func (v *Vault) LearnRequest(source, url string, headers map[string][]string) {
	values := URLSecrets(url)
	for name, list := range headers {
		if !slices.Contains(common, name) {
			values = append(values, list...)
		}
	}
	v.Learn(Node, source, values...)
}

// Error returns err without the secrets that it quotes: the response of a proxy or of the API server may contain any.
// errors.Is and errors.As find err.
func (v *Vault) Error(err error) error {
	if err == nil {
		return nil
	}
	if text := v.Text(Node, err.Error()); text != err.Error() {
		return withheld{err, text}
	}
	return err
}

// withheld is a redacted error.
type withheld struct {
	error
	text string
}

// Error implements error.
func (e withheld) Error() string { return e.text }

// Unwrap returns the original error.
func (e withheld) Unwrap() error { return e.error }
