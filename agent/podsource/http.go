package podsource

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/trace"
)

// SourceHTTP is the name of the source that reads manifests from a URL.
const SourceHTTP = podspec.SourceHTTP

const (
	// DefaultHTTPPeriod is how often the URL is read.
	// Upstream: pkg/kubelet/apis/config/v1beta1/defaults.go, HTTPCheckFrequency.
	DefaultHTTPPeriod = 20 * time.Second
	// httpTimeout limits one request, including its response. Upstream: pkg/kubelet/config/http.go.
	httpTimeout = 10 * time.Second
	// firstHTTPRetry is the back-off after the first failure; it doubles up to the period.
	firstHTTPRetry = time.Second
)

// HTTPConfig is what an HTTP needs.
type HTTPConfig struct {
	// URL is staticPodURL.
	URL string
	// Header is sent with each request (staticPodURLHeader).
	Header http.Header
	// Node is the node's name.
	Node string
	// Period is httpCheckFrequency; 0 is DefaultHTTPPeriod.
	Period time.Duration
	// Client sends the requests; nil means one with a timeout of 10 s.
	Client *http.Client
	// Bus may be nil.
	Bus *trace.Bus
}

// HTTP is the source of static pods from a web server: one Pod, PodList or List, or several documents of these, in YAML or JSON.
//
// The last valid version remains in use while the server does not respond, or if its response is invalid. The source counts as seen
// after the first response, with or without pods.
//
// Upstream: pkg/kubelet/config/http.go, which removes all pods if the response is empty.
type HTTP struct {
	cfg HTTPConfig
	// shown is the URL without possible credentials.
	shown string

	// The following fields belong to Run's goroutine.
	etag, modified string // of the response in use
	sum            string // its body
	pods           []*v1.Pod
	good           bool // pods are from a version without problems
	delivered      bool
	wrong          []Problem        // of the latest response
	problems       map[Problem]bool // as published
	warnings       map[Problem]bool // as published
	tries          int              // failures in a row
}

// NewHTTP returns a source that sends no request before Run.
func NewHTTP(c HTTPConfig) (*HTTP, error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("http source: staticPodURL: %w", redact.URLError(err))
	case (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		return nil, fmt.Errorf("http source: staticPodURL is %q: want an http or https URL with a host", redact.URL(c.URL))
	case c.Node == "":
		return nil, errors.New("http source: the node's name is empty")
	case c.Period < 0:
		return nil, fmt.Errorf("http source: httpCheckFrequency is %s: want a positive duration", c.Period)
	case c.Period == 0:
		c.Period = DefaultHTTPPeriod
	}
	if c.Client == nil {
		c.Client = &http.Client{Timeout: httpTimeout}
	}
	return &HTTP{cfg: c, shown: redact.URL(c.URL)}, nil
}

// Name implements Source.
func (h *HTTP) Name() string { return SourceHTTP }

// Run implements Source.
func (h *HTTP) Run(ctx context.Context, set func(Set)) error {
	for cause := trace.SourceStart; ; cause = trace.SourcePeriod {
		err := h.read(ctx, cause, set)
		if ctx.Err() != nil {
			return nil
		}
		if !h.sleep(ctx, err) {
			return nil
		}
	}
}

// sleep waits until the next read, which is sooner after a failure; false if ctx ended.
func (h *HTTP) sleep(ctx context.Context, err error) bool {
	delay := h.cfg.Period
	if err == nil {
		h.tries = 0
	} else {
		delay = retryDelay(h.tries, min(firstHTTPRetry, h.cfg.Period), h.cfg.Period)
		h.tries++
		wait := trace.Wait{
			For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetAddress, Name: h.shown}, Tries: h.tries, Cause: err.Error(),
			Until: time.Now().Add(delay).UnixNano(),
		}
		span := trace.Begin(h.cfg.Bus, trace.Span{}, wait)
		defer trace.End(h.cfg.Bus, span, wait)
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(delay):
		return true
	}
}

// apply uses the pods of a response, unless it has problems and there is an earlier good version.
func (h *HTTP) apply(data []byte) {
	pods, problems, warnings := []*v1.Pod(nil), []Problem(nil), []Problem(nil)
	if len(data) == 0 {
		problems = []Problem{{Path: h.shown, Message: "the response is empty: want a manifest, or a PodList without items"}}
	} else {
		pods, problems, warnings = Decode(h.cfg.URL, data, h.cfg.Node) // UIDs depend on the complete URL
		for _, list := range [][]Problem{problems, warnings} {
			for i := range list {
				list[i].Path, list[i].Message = h.shown, strings.ReplaceAll(list[i].Message, h.cfg.URL, h.shown)
			}
		}
	}
	switch {
	case len(problems) == 0:
		h.pods, h.good = pods, true
	case !h.good:
		// There is no earlier good version, so the valid pods are used.
		h.pods = pods
	}
	h.wrong = problems
	h.report(problems)
	present := map[Problem]bool{}
	warn(h.cfg.Bus, trace.Span{}, warnings, h.warnings, present)
	h.warnings = present
}

// report publishes new problems, and their end.
func (h *HTTP) report(problems []Problem) {
	present := make(map[Problem]bool, len(problems))
	for _, p := range problems {
		if !h.problems[p] {
			trace.Point(h.cfg.Bus, trace.Span{}, p.event(SourceHTTP, h.good && len(h.pods) > 0))
		}
		present[p] = true
	}
	if len(present) == 0 && len(h.problems) > 0 {
		trace.Point(h.cfg.Bus, trace.Span{}, trace.SourceError{Source: SourceHTTP, Path: h.shown})
	}
	h.problems = present
}

// set returns the source's set.
func (h *HTTP) set(span trace.Span) Set {
	paths := make(map[types.UID]string, len(h.pods))
	for _, p := range h.pods {
		paths[p.UID] = h.shown
	}
	return Set{Pods: h.pods, Paths: paths, Span: span}
}
