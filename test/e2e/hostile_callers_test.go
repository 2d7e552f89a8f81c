package e2e

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

const talker = `
apiVersion: v1
kind: Pod
metadata: {name: talker}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: $BUSYBOX
    command: [sh, -c, "echo hello; while sleep 1; do :; done"]
`

// TestHostileCallers attacks the ports as anybody can who reaches them, while somebody who may asks for logs, runs commands and looks at the health. All of
// that is answered, and the agent takes no more than half as much memory again.
func TestHostileCallers(t *testing.T) {
	port, health := freePort(t), freePort(t)
	n := newNode(t, "--port", strconv.Itoa(port), "--healthz-port", strconv.Itoa(health), "--address", "127.0.0.1")
	ca, cert := clientAuthority(t, filepath.Join(n.dir, "ca.crt"))
	n.config = fmt.Sprintf("authentication: {anonymous: {enabled: false}, webhook: {enabled: false}, x509: {clientCAFile: %s}}\nauthorization: {mode: AlwaysAllow}\n", ca)
	a := n.start()
	n.put("talker.yaml", talker)
	a.ready("talker")
	n.await("what the pod says", func() bool { return strings.Contains(n.log("talker", "main", 0), "hello") })
	target := victim{t: t, secure: fmt.Sprintf("127.0.0.1:%d", port), health: fmt.Sprintf("127.0.0.1:%d", health), cert: cert, pod: n.pod("talker")}
	for range 20 { // what is requested takes memory by itself
		target.serves()
	}
	for _, attack := range []struct {
		name string
		run  func(victim)
	}{
		{"1,500 paths of 1 MB on each port", victim.longPaths},
		{"2,000 connections on each port that do nothing, or send headers slowly", victim.idle},
		{"500 bodies on each port that do not come", victim.noBodies},
		{"200 connections with 10,000 streams each that are reset at once", victim.rapidReset},
	} {
		bounded := a.attacked()
		var all sync.WaitGroup
		all.Go(func() { attack.run(target) })
		for range 10 {
			target.serves()
		}
		all.Wait()
		target.serves()
		bounded(attack.name)
	}
}

// victim is what is attacked.
type victim struct {
	t              *testing.T
	secure, health string
	cert           tls.Certificate
	pod            string
}

// from is the address of whoever may ask. Attacks come from another one.
var from = &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, Timeout: deadline}

// serves asks for what those may have who may ask.
func (v victim) serves() {
	v.t.Helper()
	transport := &http.Transport{DialContext: from.DialContext, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{v.cert}}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: deadline}
	for _, c := range []struct{ method, url, want string }{
		{"GET", "http://" + v.health + "/healthz", "ok"},
		{"GET", "https://" + v.secure + "/containerLogs/default/" + v.pod + "/main", "hello\n"},
		{"POST", "https://" + v.secure + "/run/default/" + v.pod + "/main?cmd=echo+done", "done\n"},
	} {
		req, err := http.NewRequestWithContext(v.t.Context(), c.method, c.url, nil)
		if err != nil {
			v.t.Fatal(err)
		}
		res, err := client.Do(req)
		if err != nil {
			v.t.Error(err)
			continue
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK || string(body) != c.want {
			v.t.Errorf("%s %s: %d %q, %v", c.method, c.url, res.StatusCode, body, err)
		}
	}
	conn, err := tls.DialWithDialer(from, "tcp", v.secure, transport.TLSClientConfig)
	if err != nil {
		v.t.Error(err)
		return
	}
	defer func() { _ = conn.Close() }() // it was only to begin
	fmt.Fprintf(conn, "POST /exec/default/%s/main?command=true&output=1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n", v.pod)
	_ = conn.SetReadDeadline(time.Now().Add(deadline))
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		v.t.Errorf("exec: %v", err)
		return
	}
	_ = res.Body.Close() // a stream would follow
	if res.StatusCode != http.StatusSwitchingProtocols {
		v.t.Errorf("exec: %s", res.Status)
	}
}

// stranger connects to a port as anybody can. It may be refused.
func (v victim) stranger(address string, protocols ...string) net.Conn {
	c, err := net.DialTimeout("tcp", address, deadline)
	if err != nil {
		return nil
	}
	v.t.Cleanup(func() { _ = c.Close() })
	if address == v.secure {
		return tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: protocols})
	}
	return c
}

func (v victim) each(f func(address string)) {
	f(v.secure)
	f(v.health)
}

func (v victim) longPaths() {
	path := strings.Repeat("a", 1<<20-8<<10)
	v.each(func(address string) {
		for range 1500 {
			if c := v.stranger(address); c != nil {
				_, _ = fmt.Fprintf(c, "GET /%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path) // it may end before
				_ = c.Close()
			}
		}
	})
}

func (v victim) idle() {
	v.each(func(address string) {
		for i := range 2000 {
			c, err := net.DialTimeout("tcp", address, deadline)
			if err != nil {
				continue
			}
			v.t.Cleanup(func() { _ = c.Close() })
			if i%2 == 0 {
				_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nX: ")
			}
		}
	})
}

func (v victim) noBodies() {
	v.each(func(address string) {
		for range 500 {
			if c := v.stranger(address); c != nil {
				_, _ = io.WriteString(c, "POST /run/default/x/main HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n")
			}
		}
	})
}

func (v victim) rapidReset() {
	for range 200 {
		c := v.stranger(v.secure, "h2")
		if c == nil {
			continue
		}
		go func() { _, _ = io.Copy(io.Discard, c) }()
		if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
			continue
		}
		f := http2.NewFramer(c, nil)
		_ = f.WriteSettings()
		for i := range uint32(10000) {
			// GET https://a/, of the static table.
			if f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: []byte{0x82, 0x87, 0x84, 0x41, 0x01, 'a'}, EndStream: true, EndHeaders: true}) != nil ||
				f.WriteRSTStream(2*i+1, http2.ErrCodeCancel) != nil {
				break
			}
		}
		_ = c.Close()
	}
}

// clientAuthority writes the certificate of an authority and returns that of a client.
func clientAuthority(t *testing.T, file string) (string, tls.Certificate) {
	t.Helper()
	sign := func(template, parent *x509.Certificate, key *ecdsa.PrivateKey, by *ecdsa.PrivateKey) []byte {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	var keys [2]*ecdsa.PrivateKey
	for i := range keys {
		var err error
		if keys[i], err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: sign(ca, ca, keys[0], keys[0])}), 0o600); err != nil {
		t.Fatal(err)
	}
	client := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "somebody"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	return file, tls.Certificate{Certificate: [][]byte{sign(client, ca, keys[1], keys[0])}, PrivateKey: keys[1]}
}
