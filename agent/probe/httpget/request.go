package httpget

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MaxHeader is the limit of a response's status line and header, in bytes: the container decides what it sends, and errors quote
// it. Upstream has 10 MiB, the default of net/http.
const MaxHeader = 128 << 10

// maxRedirects limits how many redirects are followed.
const maxRedirects = 10

// Request returns the request of get for a container of the pod with that IP. Its User-Agent is agent unless the
// manifest has one.
//
// Upstream: pkg/probe/http/request.go, NewRequestForHTTPGetAction.
func Request(ctx context.Context, get *v1.HTTPGetAction, c *v1.Container, ip, agent string) (*http.Request, error) {
	port, err := Port(get.Port, c)
	if err != nil {
		return nil, err
	}
	host := get.Host
	if host == "" {
		host = ip
	}
	u, err := url.Parse(get.Path)
	if err != nil {
		u = &url.URL{Path: get.Path} // sent unchanged: the API server accepted it
	}
	u.Scheme = "http"
	if get.Scheme != "" {
		u.Scheme = strings.ToLower(string(get.Scheme))
	}
	u.Host = net.JoinHostPort(host, strconv.Itoa(port))

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	for _, h := range get.HTTPHeaders {
		req.Header.Add(h.Name, h.Value)
	}
	setUnlessGiven(req.Header, "User-Agent", agent)
	setUnlessGiven(req.Header, "Accept", "*/*")
	if req.Header.Get("Accept") == "" { // set to empty: the manifest wants none
		req.Header.Del("Accept")
	}
	req.Host = req.Header.Get("Host")
	return req, nil
}

func setUnlessGiven(h http.Header, name, value string) {
	if _, ok := h[name]; !ok {
		h.Set(name, value)
	}
}

// Port returns the number of a port that is given by number or by name.
//
// Upstream: pkg/probe/util.go, ResolveContainerPort.
func Port(port intstr.IntOrString, c *v1.Container) (int, error) {
	n := port.IntValue()
	if port.Type == intstr.String {
		n = 0
		for _, p := range c.Ports {
			if p.Name == port.StrVal {
				n = int(p.ContainerPort)
				break
			}
		}
		if n == 0 {
			return 0, fmt.Errorf("port %q not found", port.StrVal)
		}
	}
	if n < 1 || n > 65535 {
		return 0, fmt.Errorf("invalid port number: %d", n)
	}
	return n, nil
}

// SameHost is a client's CheckRedirect: redirects are followed only on the first host. A redirect to another host ends
// the request, and the redirect is its response.
//
// Upstream: pkg/probe/http/http.go, RedirectChecker.
func SameHost(req *http.Request, via []*http.Request) error {
	switch {
	case req.URL.Hostname() != via[0].URL.Hostname():
		return http.ErrUseLastResponse
	case len(via) >= maxRedirects:
		return errors.New("stopped after 10 redirects")
	}
	return nil
}
