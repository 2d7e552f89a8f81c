package kubeclient

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"

	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

// Load reads a kubeconfig. Errors name the file and what would be right.
func Load(path string) (*rest.Config, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("kubeconfig %s does not exist: copy one there, or set --bootstrap-kubeconfig to create it", path)
	}
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: path}
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", path, withheld(path, err))
	}
	return cfg, nil
}

// withheld returns an error without the kubeconfig's credentials: an error about an invalid proxy-url quotes all of it.
func withheld(path string, err error) error {
	file, unread := clientcmd.LoadFromFile(path)
	if unread != nil {
		return err
	}
	var values []string
	for _, c := range file.Clusters {
		values = slices.Concat(values, redact.URLSecrets(c.Server), redact.URLSecrets(c.ProxyURL))
	}
	for _, a := range file.AuthInfos {
		values = append(values, a.Token, a.Password)
	}
	v := redact.NewVault()
	v.Learn(redact.Node, path, values...)
	if text := v.Text(redact.Node, err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}

// Secrets returns a kubeconfig's credentials, for a vault. Tokens of plugins and of files that are read again are
// learned when they are sent.
func Secrets(cfg *rest.Config) []string {
	values := append(redact.URLSecrets(cfg.Host), cfg.BearerToken, cfg.Password)
	if cfg.Proxy == nil {
		return values
	}
	proxy, err := cfg.Proxy(&http.Request{URL: &url.URL{Scheme: "https", Host: "any"}}) // the kubeconfig's proxy-url, for any server
	if err != nil || proxy == nil {
		return values
	}
	return append(values, redact.URLSecrets(proxy.String())...)
}

// Expired returns an error if cfg's client certificate is no longer, or not yet, valid. Without a certificate, for
// example with a token, there is nothing to check.
func Expired(cfg *rest.Config, now time.Time) error {
	pem := cfg.CertData
	if len(pem) == 0 {
		if cfg.CertFile == "" {
			return nil
		}
		var err error
		if pem, err = wholefile.Read(cfg.CertFile, wholefile.Large); err != nil {
			return fmt.Errorf("client certificate: %w", err)
		}
	}
	certs, err := cert.ParseCertsPEM(pem)
	if err != nil {
		return fmt.Errorf("client certificate %s: %w", cfg.CertFile, err)
	}
	for _, c := range certs {
		if now.After(c.NotAfter) {
			return fmt.Errorf("client certificate of %s was valid until %s: renew it, or set --bootstrap-kubeconfig with a valid token to get a new one",
				c.Subject.CommonName, c.NotAfter.UTC().Format(time.RFC3339))
		}
		if now.Before(c.NotBefore) {
			return fmt.Errorf("client certificate of %s is valid only from %s: is the clock right?", c.Subject.CommonName, c.NotBefore.UTC().Format(time.RFC3339))
		}
	}
	return nil
}

// explain adds to errors of the connection what an administrator can do.
func explain(err error) error {
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return fmt.Errorf("the API server's certificate is expired or not yet valid (until %s): renew it, or set the clock: %w",
			e.Cert.NotAfter.UTC().Format(time.RFC3339), err)
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fmt.Errorf("the API server is not the one that the kubeconfig's certificate-authority trusts: %w", err)
	}
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Errorf("the API server's certificate is not for %s: %w", e.Host, err)
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("the API server does not listen: %w", err)
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Errorf("the API server's name %s does not resolve: %w", e.Name, err)
	}
	return err
}
