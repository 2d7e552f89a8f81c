package httpget

import (
	"net/http"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestRequest(t *testing.T) {
	c := &v1.Container{Ports: []v1.ContainerPort{{Name: "web", ContainerPort: 8080}}}
	for name, tt := range map[string]struct {
		get     v1.HTTPGetAction
		url     string
		host    string
		headers map[string]string
		err     string
	}{
		"plain": {
			get: v1.HTTPGetAction{Path: "/healthz?a=b", Port: intstr.FromInt32(80)}, url: "http://10.1.2.3:80/healthz?a=b",
			headers: map[string]string{"User-Agent": "kube-probe/1.37", "Accept": "*/*"},
		},
		"everything given": {
			get: v1.HTTPGetAction{
				Path: "x", Port: intstr.FromString("web"), Host: "::1", Scheme: v1.URISchemeHTTPS,
				HTTPHeaders: []v1.HTTPHeader{{Name: "user-agent", Value: "me"}, {Name: "accept", Value: ""}, {Name: "Host", Value: "shop"}, {Name: "X-A", Value: "1"}},
			},
			url: "https://[::1]:8080/x", host: "shop", headers: map[string]string{"User-Agent": "me", "Accept": "", "X-A": "1"},
		},
		"a path that is none": {get: v1.HTTPGetAction{Path: "/%zz", Port: intstr.FromInt32(80)}, url: "http://10.1.2.3:80/%25zz"},
		"no such port":        {get: v1.HTTPGetAction{Port: intstr.FromString("db")}, err: `port "db" not found`},
		"a port out of range": {get: v1.HTTPGetAction{Port: intstr.FromInt32(70000)}, err: "invalid port number: 70000"},
	} {
		req, err := Request(t.Context(), &tt.get, c, "10.1.2.3", "kube-probe/1.37")
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%s: error %v, want %s", name, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := req.URL.String(); got != tt.url || req.Host != tt.host {
			t.Errorf("%s: %s with host %q, want %s with %q", name, got, req.Host, tt.url, tt.host)
		}
		for k, want := range tt.headers {
			if got := req.Header.Get(k); got != want {
				t.Errorf("%s: %s is %q, want %q", name, k, got, want)
			}
		}
	}
}

func TestSameHost(t *testing.T) {
	req := func(url string) *http.Request {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := []*http.Request{req("http://10.1.2.3:80/")}
	if err := SameHost(req("http://10.1.2.3:8080/x"), first); err != nil {
		t.Errorf("another port of the same host: %v", err)
	}
	if err := SameHost(req("http://10.1.2.4/"), first); err == nil {
		t.Error("another host is followed")
	}
	many := append(first, first...)
	for range 4 {
		many = append(many, many[:2]...)
	}
	if err := SameHost(req("http://10.1.2.3/"), many); err == nil {
		t.Error("an endless redirect is followed")
	}
}
