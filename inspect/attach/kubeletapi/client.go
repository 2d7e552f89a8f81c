package kubeletapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kubeloupe/kubeloupe/inspect/attach/rootfile"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// deadline bounds a request, maxAnswer an answer.
	deadline  = 10 * time.Second
	maxAnswer = 16 << 20
)

// Client says where a kubelet's API is, and who asks.
type Client struct {
	// Address is where the kubelet's API listens, host:port.
	Address string
	// Cert and Key are files with a client certificate, Kubeconfig is a file that has one, Token is a file with a token.
	Cert, Key, Kubeconfig, Token string
	// Pins are files of which the kubelet's serving certificate is in one.
	Pins []string
	// Plain asks without TLS and without credentials: the kubelet's read-only port, where it is enabled. Whoever takes that port when the
	// kubelet ends can answer in its place.
	Plain bool `json:",omitempty"`
}

// ErrDenied says that the kubelet does not permit a request.
var ErrDenied = errors.New("the kubelet refuses these credentials")

// StatusError is an answer other than the one that was asked for.
type StatusError struct {
	Path string
	Code int
	// Text is what the kubelet wrote, cut.
	Text string
}

// Error implements error.
func (e *StatusError) Error() string { return fmt.Sprintf("%s: status %d: %s", e.Path, e.Code, e.Text) }

// Get asks for a path. The error is ErrDenied where these credentials may not.
func (c *Client) Get(ctx context.Context, path string) ([]byte, error) {
	return c.Do(ctx, http.MethodGet, path, "")
}

// Do makes a request, of 10 s and with an answer of 16 MiB at most.
func (c *Client) Do(ctx context.Context, method, path, body string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	scheme, token := "http://", ""
	t := &http.Transport{DisableKeepAlives: true}
	defer t.CloseIdleConnections()
	if !c.Plain {
		var err error
		if t.TLSClientConfig, token, err = c.tls(); err != nil {
			return nil, err
		}
		scheme = "https://"
	}
	req, err := http.NewRequestWithContext(ctx, method, scheme+c.Address+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := (&http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the kubelet: %w", err)
	}
	defer res.Body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("ask the kubelet: %w", err)
	case len(text) > maxAnswer:
		return nil, fmt.Errorf("%s: the answer is larger than the limit of %d MiB", path, maxAnswer>>20)
	case res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("%s %s: %w (status %d)", method, path, ErrDenied, res.StatusCode)
	case res.StatusCode != http.StatusOK:
		return nil, &StatusError{Path: path, Code: res.StatusCode, Text: trace.Clip(string(text), 200)}
	}
	return text, nil
}

// tls has the client's certificate or token, and takes no server but the kubelet.
func (c *Client) tls() (cfg *tls.Config, token string, err error) {
	certs, token, err := c.identity()
	if err != nil {
		return nil, "", err
	}
	var pins [][]byte
	for _, file := range c.Pins {
		b, err := rootfile.Read(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		for block, rest := pem.Decode(b); block != nil; block, rest = pem.Decode(rest) {
			if block.Type == "CERTIFICATE" {
				pins = append(pins, block.Bytes)
			}
		}
	}
	if len(pins) == 0 {
		return nil, "", fmt.Errorf("the kubelet's serving certificate is in none of %s; without it, attach cannot verify the server", strings.Join(c.Pins, ", "))
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: certs,
		InsecureSkipVerify: true, //nolint:gosec // VerifyPeerCertificate compares the certificate itself
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			if len(raw) > 0 && slices.ContainsFunc(pins, func(pin []byte) bool { return bytes.Equal(pin, raw[0]) }) {
				return nil
			}
			return errors.New("the server on the kubelet's port does not have the kubelet's certificate")
		},
	}, token, nil
}

// identity is who asks: by a certificate or by a token.
func (c *Client) identity() (certs []tls.Certificate, token string, err error) {
	switch {
	case c.Kubeconfig != "":
		return fromKubeconfig(c.Kubeconfig)
	case c.Token != "":
		b, err := rootfile.Read(c.Token)
		return nil, strings.TrimSpace(string(b)), err
	}
	return pair(c.Cert, c.Key)
}

func pair(certFile, keyFile string) ([]tls.Certificate, string, error) {
	cert, err := rootfile.Read(certFile)
	if err != nil {
		return nil, "", err
	}
	key, err := rootfile.Read(keyFile)
	if err != nil {
		return nil, "", err
	}
	p, err := tls.X509KeyPair(cert, key)
	return []tls.Certificate{p}, "", err
}

// kubeconfig is what matters of one.
type kubeconfig struct {
	Current  string `json:"current-context"`
	Contexts []struct {
		Name    string `json:"name"`
		Context struct {
			User string `json:"user"`
		} `json:"context"`
	} `json:"contexts"`
	Users []struct {
		Name string `json:"name"`
		User user   `json:"user"`
	} `json:"users"`
}

// user has a client certificate or a token.
type user struct {
	CertData  []byte `json:"client-certificate-data"`
	KeyData   []byte `json:"client-key-data"`
	Cert      string `json:"client-certificate"`
	Key       string `json:"client-key"`
	Token     string `json:"token"`
	TokenFile string `json:"tokenFile"`
}

// fromKubeconfig is the user of the current context; where there is none, the first one who has credentials.
func fromKubeconfig(name string) ([]tls.Certificate, string, error) {
	b, err := rootfile.Read(name)
	if err != nil {
		return nil, "", err
	}
	var k kubeconfig
	if err := yaml.Unmarshal(b, &k); err != nil {
		return nil, "", fmt.Errorf("%s is not a kubeconfig: its YAML cannot be read", name) // the error may quote credentials
	}
	only := ""
	for _, c := range k.Contexts {
		if c.Name == k.Current {
			only = c.Context.User
		}
	}
	for _, u := range k.Users {
		if only == "" || u.Name == only {
			if certs, token, err := u.User.identity(filepath.Dir(name)); err != nil || certs != nil || token != "" {
				return certs, token, err
			}
		}
	}
	if only != "" {
		return nil, "", fmt.Errorf("%s: the user %q of its current context has neither a client certificate nor a token", name, only)
	}
	return nil, "", fmt.Errorf("%s has neither a client certificate nor a token", name)
}

// identity has the user's credentials; nothing where there are none. Names of files are relative to dir.
func (u *user) identity(dir string) ([]tls.Certificate, string, error) {
	in := func(file string) string {
		if filepath.IsAbs(file) {
			return file
		}
		return filepath.Join(dir, file)
	}
	switch {
	case len(u.CertData) > 0:
		p, err := tls.X509KeyPair(u.CertData, u.KeyData)
		return []tls.Certificate{p}, "", err
	case u.Cert != "":
		return pair(in(u.Cert), in(u.Key))
	case u.TokenFile != "":
		b, err := rootfile.Read(in(u.TokenFile))
		return nil, strings.TrimSpace(string(b)), err
	}
	return nil, u.Token, nil
}
