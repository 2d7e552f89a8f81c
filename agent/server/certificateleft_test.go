package server

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestCertificateLeft: the record of a request says how long its certificate is still valid.
func TestCertificateLeft(t *testing.T) {
	own, err := certificate(t)(nil)
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, nil)
	cur := w.bus.Subscribe(trace.FromNow)
	left := func(certs ...tls.Certificate) time.Duration {
		c := tls.Client(dial(t, "", strings.TrimPrefix(w.url, "https://")), &tls.Config{InsecureSkipVerify: true, Certificates: certs})
		_, _ = fmt.Fprint(c, "GET /configz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer root\r\nConnection: close\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		for {
			recs, _, err := cur.Next(t.Context(), make([]trace.Record, 0, 8))
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range recs {
				if e, ok := r.Event.(*trace.ServerRequest); ok && r.Edge == trace.EdgeEnd {
					return e.CertificateLeft
				}
			}
		}
	}
	if got := left(); got != 0 {
		t.Errorf("without a certificate: %v", got)
	}
	want := time.Until(own.Leaf.NotAfter)
	if got := left(*own); got > want || got < want-time.Hour {
		t.Errorf("%v, want %v", got, want)
	}
}
