package cluster

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// The ways to the API server, which have credentials too: each is refused by somebody who quotes what he was shown.

// TestCanaryIdentities starts agents that are let in nowhere, and looks for what they showed. See TestCanary.
func TestCanaryIdentities(t *testing.T) {
	b := setup(t)
	b.alone(t)
	c, dir := newCanaries(t, b), t.TempDir()
	good, _ := c.bootstrapToken(dir)
	c.identities(dir, good)
}

// quotes is what a server says to whom it does not know.
func quotes(show string) string {
	_, value, _ := strings.Cut(show, " ")
	again := base64.StdEncoding.EncodeToString([]byte(value))
	if plain, err := base64.StdEncoding.DecodeString(value); err == nil { // user and password
		again = string(plain)
	}
	return fmt.Sprintf("whoever %q is, or %q, it is not let in", show, again)
}

// proxy is one of HTTP's that opens tunnels for user and password, and quotes the others.
func (c *canaries) proxy(user, password string) (address string) {
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(c.t, err)
	c.t.Cleanup(func() { _ = l.Close() })
	serve := func(conn net.Conn) {
		defer func() { _ = conn.Close() }()
		from := bufio.NewReader(conn)
		req, err := http.ReadRequest(from)
		if err != nil {
			return
		}
		if got := req.Header.Get("Proxy-Authorization"); got != want {
			fmt.Fprintf(conn, "HTTP/1.1 407 %s\r\nContent-Length: 0\r\n\r\n", quotes(got))
			return
		}
		to, err := net.Dial("tcp", req.Host)
		if err != nil {
			fmt.Fprintf(conn, "HTTP/1.1 502 %s\r\nContent-Length: 0\r\n\r\n", quotes(want))
			return
		}
		defer func() { _ = to.Close() }()
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			_, _ = io.Copy(to, from)
			_ = to.Close()
		}()
		_, _ = io.Copy(conn, to)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	return l.Addr().String()
}

// refusing is an API server that knows nobody, and quotes who asks.
func (c *canaries) refusing() string {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden,
			Message: quotes(r.Header.Get("Authorization")),
		})
	}))
	c.t.Cleanup(server.Close)
	return server.URL
}

// plugin is a credential plugin whose answer is none, then an error, then a token.
func (c *canaries) plugin(dir string) (program string) {
	program = filepath.Join(dir, "credentials")
	counted := filepath.Join(dir, "counted")
	must(c.t, os.WriteFile(program, []byte(`#!/bin/sh
echo >>`+counted+`
case $(wc -l <`+counted+`) in
1) echo "`+c.secret("execnone")+`" ;;
2) echo "`+c.secret("execfailed")+`"; exit 1 ;;
3) echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":["`+c.secret("execlist")+`"]}}' ;;
*) echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"`+c.secret("exectoken")+`"}}' ;;
esac
`), 0o755))
	return program
}

// identities starts agents that are refused, one after the other, for each way to say who one is.
func (c *canaries) identities(dir, good string) {
	c.t.Helper()
	proxy, server := c.proxy("nobody", "nothing"), c.refusing()
	file := func(name, cluster, user string) string {
		path := filepath.Join(dir, "as-"+name)
		must(c.t, os.WriteFile(path, []byte(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {insecure-skip-tls-verify: true, `+cluster+`}}]
users: [{name: u, user: {`+user+`}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`), 0o600))
		return path
	}
	at := "server: " + server
	user := func(way string) string { return c.secret(way+"user") + ":" + c.secret(way+"password") }
	certificate, key := c.keyPair()
	token := filepath.Join(dir, "the-token")
	must(c.t, os.WriteFile(token, []byte(c.secret("tokenfile")), 0o600))

	for _, as := range []struct {
		name, kubeconfig, proxy string
		until                   string // what it says when it was refused
	}{
		{"proxy", "", user("proxyenv") + "@" + proxy, "is not let in"},
		{"proxyurl", file("proxyurl", at+", proxy-url: 'http://"+user("proxyurl")+"@"+proxy+"'", "token: t"), "", "is not let in"},
		{"proxynone", file("proxynone", at+", proxy-url: '"+user("proxynone")+"@"+proxy+"'", "token: t"), "", "invalid 'proxy-url'"},
		{"token", file("token", at, "token: "+c.secret("apitoken")), "", "is not let in"},
		{"key", file("key", at, "client-certificate-data: "+certificate+", client-key-data: "+key), "", "is not let in"},
		{"file", file("file", at, "tokenFile: "+token), "", "is not let in"},
		{"password", file("password", at, "username: someone, password: '"+strings.ReplaceAll(c.odd("apipassword"), "'", "''")+"'"), "", "is not let in"},
		{"server", file("server", "server: "+strings.Replace(server, "://", "://"+user("server")+"@", 1), "token: t"), "", "is not let in"},
		{"exec", file("exec", at, fmt.Sprintf(
			"exec: {apiVersion: client.authentication.k8s.io/v1, command: %q, args: [--as, %q], env: [{name: AS, value: %q}], interactiveMode: Never, installHint: %q}",
			c.plugin(dir), c.secret("execarg"), c.secret("execenv"), "no hint")), "", "is not let in"},
	} {
		state := "canary-as-" + as.name
		args := []string{"--bootstrap-kubeconfig=" + good, "--record=" + filepath.Join(dir, as.name+".klr"), "--v=10"}
		if as.kubeconfig != "" {
			args[0] = "--bootstrap-kubeconfig="
			args = append(args, "--kubeconfig="+as.kubeconfig)
		}
		a := c.bench.start(c.t, lab.AgentConfig{State: state + rand.String(4), Env: []string{"HTTPS_PROXY=" + as.proxy, "https_proxy=" + as.proxy}, Args: args})
		eventually(c.t, "that "+as.name+" is refused", func() string {
			switch out := a.said(); {
			case strings.Contains(out, as.until):
				return ""
			case !a.Alive():
				return "it ended, and says: " + out
			default:
				return "it says: " + out
			}
		})
		if as.name == "token" || as.name == "file" { // it is asked who it was shown
			if as.name == "file" {
				must(c.t, os.WriteFile(token, []byte(c.secret("tokenlater")), 0o600))
			}
			out, _ := c.run("events", "--socket="+filepath.Join(a.RootDir, "kubeloupe.sock"), "-o", "json")
			c.look("events of an agent by "+as.name, []byte(out))
		}
		if a.Alive() {
			time.Sleep(200 * time.Millisecond) // it says more, and records it
			a.stop()
		}
		if as.name != "key" && strings.Contains(a.said(), "not let in") && !strings.Contains(a.said(), "[redacted]") {
			c.t.Errorf("%s: nothing was quoted: %s", as.name, a.said())
		}
		c.look("what the agent by "+as.name+" printed", []byte(a.said()))
		c.files(filepath.Dir(a.RootDir))
		out, err := c.run("events", "--from="+filepath.Join(dir, as.name+".klr"), "-o", "json")
		if err != nil && as.name != "proxynone" {
			c.t.Errorf("the recording by %s: %v %s", as.name, err, out)
		}
		c.look("the recording by "+as.name, []byte(out))
	}
}
