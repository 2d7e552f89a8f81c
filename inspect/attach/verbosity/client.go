package verbosity

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

const (
	// deadline bounds a request, maxAnswer an answer, maxFile a file of certificates.
	deadline  = 10 * time.Second
	maxAnswer = 4 << 20
	maxFile   = 1 << 20
)

// Job says of which kubelet the verbosity is raised, and what it was.
type Job struct {
	// Address is where the kubelet's API listens, host:port.
	Address string
	// Cert and Key are files with a client certificate that may change the verbosity, or Kubeconfig is a file that has one.
	Cert, Key, Kubeconfig string
	// Pins are files of which the kubelet's serving certificate is in one.
	Pins []string
	// Old is the verbosity to put back, Until when at the latest.
	Old   int
	Until time.Time
}

// Verbosity is that of the kubelet's configuration in use: what was set in the meantime cannot be read.
func (j *Job) Verbosity(ctx context.Context) (int, error) {
	body, err := j.do(ctx, http.MethodGet, "/configz", "")
	if err != nil {
		return 0, err
	}
	var c struct {
		Kubelet struct {
			Logging struct {
				Verbosity int `json:"verbosity"`
			} `json:"logging"`
		} `json:"kubeletconfig"`
	}
	if err := json.Unmarshal(body, &c); err != nil {
		return 0, fmt.Errorf("read the kubelet's configuration: %w", err)
	}
	return c.Kubelet.Logging.Verbosity, nil
}

// Set sets the verbosity.
func (j *Job) Set(ctx context.Context, level int) error {
	_, err := j.do(ctx, http.MethodPut, "/debug/flags/v", strconv.Itoa(level))
	return err
}

func (j *Job) do(ctx context.Context, method, path, body string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	cfg, err := j.tls()
	if err != nil {
		return nil, err
	}
	t := &http.Transport{TLSClientConfig: cfg, DisableKeepAlives: true}
	defer t.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, method, "https://"+j.Address+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	res, err := (&http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the kubelet: %w", err)
	}
	defer res.Body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, fmt.Errorf("ask the kubelet: %w", err)
	case res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("%s %s: the kubelet refuses these credentials (status %d): it needs update of nodes/proxy", method, path, res.StatusCode)
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s %s: status %d: %.200s", method, path, res.StatusCode, text)
	}
	return text, nil
}

// tls has the client's certificate, and takes no server but the kubelet.
func (j *Job) tls() (*tls.Config, error) {
	cert, err := j.certificate()
	if err != nil {
		return nil, err
	}
	var pins [][]byte
	for _, file := range j.Pins {
		b, err := readFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for block, rest := pem.Decode(b); block != nil; block, rest = pem.Decode(rest) {
			if block.Type == "CERTIFICATE" {
				pins = append(pins, block.Bytes)
			}
		}
	}
	if len(pins) == 0 {
		return nil, fmt.Errorf("the kubelet's serving certificate is in none of %s; without it, attach cannot verify the server", strings.Join(j.Pins, ", "))
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert},
		InsecureSkipVerify: true, //nolint:gosec // VerifyPeerCertificate compares the certificate itself
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			if len(raw) > 0 && slices.ContainsFunc(pins, func(pin []byte) bool { return bytes.Equal(pin, raw[0]) }) {
				return nil
			}
			return errors.New("the server on the kubelet's port does not have the kubelet's certificate")
		},
	}, nil
}

func (j *Job) certificate() (tls.Certificate, error) {
	if j.Kubeconfig == "" {
		cert, err := readFile(j.Cert)
		if err != nil {
			return tls.Certificate{}, err
		}
		key, err := readFile(j.Key)
		if err != nil {
			return tls.Certificate{}, err
		}
		return tls.X509KeyPair(cert, key)
	}
	b, err := readFile(j.Kubeconfig)
	if err != nil {
		return tls.Certificate{}, err
	}
	var k struct {
		Users []struct {
			User struct {
				CertData []byte `json:"client-certificate-data"`
				KeyData  []byte `json:"client-key-data"`
				Cert     string `json:"client-certificate"`
				Key      string `json:"client-key"`
			} `json:"user"`
		} `json:"users"`
	}
	if err := yaml.Unmarshal(b, &k); err != nil {
		return tls.Certificate{}, fmt.Errorf("%s: %w", j.Kubeconfig, err)
	}
	for _, u := range k.Users {
		switch {
		case len(u.User.CertData) > 0:
			return tls.X509KeyPair(u.User.CertData, u.User.KeyData)
		case u.User.Cert != "":
			return (&Job{Cert: u.User.Cert, Key: u.User.Key}).certificate()
		}
	}
	return tls.Certificate{}, fmt.Errorf("%s has no client certificate", j.Kubeconfig)
}

// readFile reads a file of root's.
func readFile(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return io.ReadAll(io.LimitReader(f, maxFile))
}
