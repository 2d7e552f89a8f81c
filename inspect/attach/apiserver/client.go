package apiserver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubeloupe/kubeloupe/inspect/attach/podobject"
	"github.com/kubeloupe/kubeloupe/inspect/attach/rootfile"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// maxAnswer bounds an answer to a list, deadline how long it takes.
	maxAnswer = 64 << 20
	deadline  = 30 * time.Second
	// qps and burst bound the requests: a watch that ends at once begins anew.
	qps, burst = 2, 10
	// late is how much later than the kubelet the API server knows, as a rule.
	late = time.Second
)

// Access says how the API server is reached: by a kubeconfig, or by the service account of the pod that this process runs in.
type Access struct {
	// Kubeconfig is the path of a file, as this process sees it.
	Kubeconfig string
	// InCluster uses the service account of this process's own pod.
	InCluster bool
}

// Config is what a client needs to know. Plugins for credentials are run, as kubectl does, without a terminal.
func (a Access) Config() (cfg *rest.Config, err error) {
	if a.InCluster {
		cfg, err = rest.InClusterConfig()
	} else {
		cfg, err = fromFile(a.Kubeconfig)
	}
	if err != nil {
		return nil, err
	}
	if cfg.ExecProvider != nil {
		cfg.ExecProvider.StdinUnavailable, cfg.ExecProvider.StdinUnavailableMessage = true, "attach has the terminal"
	}
	cfg.UserAgent = "kubeloupe-attach"
	cfg.QPS, cfg.Burst, cfg.RateLimiter = qps, burst, nil
	cfg.WarningHandler = rest.NoWarnings{}
	cfg.ContentType, cfg.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	return cfg, nil
}

// fromFile reads a kubeconfig that the user named. Relative paths in it are relative to its directory.
func fromFile(name string) (*rest.Config, error) {
	b, err := rootfile.Read(name)
	if err != nil {
		return nil, err
	}
	c, err := clientcmd.Load(b)
	if err != nil {
		return nil, fmt.Errorf("%s is not a kubeconfig: its YAML cannot be read", name) // the error may quote credentials
	}
	cfg, err := clientcmd.NewDefaultClientConfig(*c, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", name, err)
	}
	for _, f := range []*string{&cfg.CertFile, &cfg.KeyFile, &cfg.CAFile, &cfg.BearerTokenFile} {
		if *f != "" && !filepath.IsAbs(*f) {
			*f = filepath.Join(filepath.Dir(name), *f)
		}
	}
	return cfg, nil
}

// API is what the API server shows of one node. Use [New].
type API struct {
	client clients
	node   string
	back   time.Duration
	told   string // the version of the last Event that was passed on; of Events alone

	mu   sync.Mutex
	pods *podobject.Fold
	wait waiting
}

// New returns an API for a node, of which Events that are older than back are left out. It connects to nothing.
func New(cfg *rest.Config, node string, back time.Duration) (*API, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return limited{next} })
	c, err := newClients(cfg)
	if err != nil {
		return nil, err
	}
	return &API{client: c, node: node, back: back, pods: podobject.NewFold(trace.ObserverAPIServer, late)}, nil
}

// limited cuts answers that are no watch.
type limited struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l limited) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := l.next.RoundTrip(req)
	if err == nil && req.URL.Query().Get("watch") == "" {
		res.Body = &body{LimitedReader: io.LimitedReader{R: res.Body, N: maxAnswer}, Closer: res.Body}
	}
	return res, err
}

type body struct {
	io.LimitedReader
	io.Closer
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.N <= 0 {
		return 0, fmt.Errorf("the answer is larger than the limit of %d MiB", maxAnswer>>20)
	}
	return b.LimitedReader.Read(p)
}

// WrappedRoundTripper is what client-go asks of a RoundTripper that wraps another.
func (l limited) WrappedRoundTripper() http.RoundTripper { return l.next }

// ErrDenied says that the API server does not permit to read something.
var ErrDenied = errors.New("the API server does not permit it")

// explain adds what is missing to an error.
func explain(what string, err error) error {
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w: list and watch of %s is needed: %s", ErrDenied, what, firstLine(err.Error()))
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w: these credentials are not accepted", ErrDenied)
	}
	return fmt.Errorf("watch %s: %w", what, err)
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return trace.Clip(s, 512)
}
