package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// request is one request. Targets and headers may name ${NS}, ${POD}, ${UID}, ${C} and ${TOKEN}.
type request struct {
	// group is what it is about; ID is unique.
	group, id string
	// who asks: a key of credentials.
	who string
	// raw is all of the request but the Authorization, which replaces the line "${AUTH}".
	raw string
	// method is for reading the answer.
	method string
}

// Who asks. The others are named for the one subresource of the node that they may do everything with.
const (
	admin    = "admin"    // everything, by certificate
	nobody   = "nobody"   // no credentials
	stranger = "stranger" // a token that is not known
	noRights = "norights" // a certificate that is good for nothing
	noRole   = "norole"   // a token that is good for nothing
)

// subresources are those of a node that fine-grained authorization knows, and proxy.
var subresources = []string{"proxy", "stats", "metrics", "log", "pods", "healthz", "configz", "statusz", "checkpoint"}

// endpoints are those that upstream's kubelet has, and some near them.
var endpoints = []string{
	"/", "/nope", "/healthz", "/healthz/", "/healthz/ping", "/healthz/log", "/healthz/syncloop", "/healthz/nope", "/livez", "/readyz",
	"/pods", "/pods/", "/runningpods", "/runningpods/", "/allocatedPods", "/stats", "/stats/", "/stats/summary", "/stats/summary/", "/stats/container",
	"/metrics", "/metrics/", "/metrics/cadvisor", "/metrics/resource", "/metrics/probes", "/metrics/slis", "/metrics/nope",
	"/configz", "/configz/", "/statusz", "/flagz", "/logs", "/logs/", "/logs/nope", "/debug", "/debug/pprof", "/debug/pprof/", "/debug/pprof/heap",
	"/debug/pprof/cmdline", "/debug/pprof/symbol", "/debug/pprof/nope", "/debug/flags/v",
	"/containerLogs/${NS}/${POD}/${C}", "/exec/${NS}/${POD}/${C}", "/attach/${NS}/${POD}/${C}", "/portForward/${NS}/${POD}", "/run/${NS}/${POD}/${C}",
}

func plain(method, target string, headers ...string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s HTTP/1.1\r\nHost: node\r\n${AUTH}", method, target)
	for _, h := range headers {
		out.WriteString(h + "\r\n")
	}
	out.WriteString("\r\n")
	return out.String()
}

// cases returns all requests.
func cases() []request {
	var out []request
	add := func(group, id, who, method, raw string) {
		out = append(out, request{group: group, id: group + ": " + id, who: who, method: method, raw: raw})
	}
	for _, path := range endpoints {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"} {
			add("methods", method+" "+path, admin, method, plain(method, path))
		}
	}
	for _, path := range []string{"/pods", "/containerLogs/${NS}/${POD}/${C}", "/healthz"} {
		for _, method := range []string{"TRACE", "FOO", "get", "PROPFIND"} {
			add("methods", method+" "+path, admin, method, plain(method, path))
		}
	}
	credentials(add)
	paths(add)
	logOptions(add)
	streams(add)
	wire(add)
	return out
}

type adder func(group, id, who, method, raw string)

func credentials(add adder) {
	asked := []string{
		"GET /healthz", "GET /healthz/ping", "GET /pods", "GET /runningpods/", "GET /stats/summary", "GET /metrics", "GET /metrics/cadvisor", "GET /configz",
		"GET /statusz", "GET /flagz", "GET /logs/", "GET /debug/pprof/cmdline", "GET /containerLogs/${NS}/${POD}/${C}", "POST /exec/${NS}/${POD}/${C}",
		"POST /run/${NS}/${POD}/${C}", "POST /checkpoint/${NS}/none/${C}", "GET /nope", "GET /allocatedPods", "OPTIONS /pods", "DELETE /pods",
	}
	for _, who := range slices.Concat([]string{nobody, stranger, noRights, noRole}, subresources) {
		for _, a := range asked {
			method, path, _ := strings.Cut(a, " ")
			add("credentials", who+" "+a, who, method, plain(method, path))
		}
	}
	for id, header := range map[string]string{
		"basic": "Authorization: Basic cm9vdDpyb290", "empty bearer": "Authorization: Bearer ", "bearer of two words": "Authorization: Bearer a b",
		"no scheme": "Authorization: abc", "scheme in other case": "Authorization: bEaReR ${TOKEN}", "two headers": "Authorization: Bearer x\r\nAuthorization: Bearer ${TOKEN}",
		"user headers": "X-Remote-User: admin\r\nX-Remote-Group: system:masters", "impersonation": "Impersonate-User: admin",
		"websocket token": "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.eHh4, v4.channel.k8s.io",
		"long token":      "Authorization: Bearer " + strings.Repeat("x", 20000),
	} {
		add("credentials", id, nobody, "GET", plain("GET", "/pods", header))
	}
}

func paths(add adder) {
	const logs = "/containerLogs/${NS}/${POD}/${C}"
	for _, path := range []string{
		"//pods", "/pods//", "/./pods", "/pods/.", "/pods/..", "/../pods", "/x/../pods", "/healthz/../pods", "/%70ods", "/pods%2f", "/pods%00", "/pods%20", "/pods;x", "/pods?", "/pods?x=%zz", "/pods?;",
		"/PODS", "/Pods", "/pods/${NS}", "/pods/${NS}/${POD}", "/podsx", "/runningpods/x", "/RunningPods/",
		"/stats/summary?only_cpu_and_memory=true", "/stats/summary?only_cpu_and_memory=nonsense", "/stats/summary?%zz", "/stats/${NS}/${POD}/${C}", "/stats//summary",
		"/metrics//cadvisor", "/metrics/cadvisor/", "/metrics/cadvisor/x", "/metrics?x", "/spec", "/spec/",
		"/logs//", "/logs/../etc/passwd", "/logs/%2e%2e/%2e%2e/etc/passwd", "/logs/..%2f..%2fetc%2fpasswd", "/logs/nope/nope", "/logs?x", "/logs/index.html",
		"/debug/pprof/profile?seconds=1", "/debug/pprof/goroutine?debug=1", "/debug/pprof/trace?seconds=0.01", "/debug/pprof//heap", "/debug/flags/", "/debug/flags/v/", "/debug/vars",
		"/containerLogs", "/containerLogs/", "/containerLogs/${NS}", "/containerLogs/${NS}/${POD}", logs + "/", logs + "/x", "/containerLogs/${NS}//${C}", "/containerLogs//${POD}/${C}",
		"/containerLogs/none/${POD}/${C}", "/containerLogs/${NS}/none/${C}", "/containerLogs/${NS}/${POD}/none", "/containerLogs/${NS}/${UID}/${C}", "/containerLogs/${NS}/${POD}/%2e%2e",
		"/containerLogs/${NS}/${POD}/${C}%2fx", "/containerLogs/${NS}/${POD}%20/${C}", "/containerLogs/" + strings.Repeat("a", 5000) + "/${POD}/${C}",
		"/exec", "/exec/", "/exec/${NS}/${POD}", "/exec/${NS}/${POD}/${UID}/${C}", "/exec/${NS}/${POD}/${UID}/${C}/x", "/attach/${NS}/${POD}", "/attach/${NS}/${POD}/${UID}/${C}",
		"/portForward", "/portForward/${NS}", "/portForward/${NS}/${POD}/${UID}", "/portForward/${NS}/${POD}/x", "/portForward/${NS}/none", "/portForward/${NS}/${POD}/${UID}/x",
		"/run/${NS}/${POD}", "/cri/exec/x", "/configz?x", "/statusz/", "/flagz/", "/healthz?verbose", "/healthz?exclude=ping", "/healthz?exclude=none&verbose", "/healthz/ping/", "/healthz//ping",
		"/checkpoint/${NS}/${POD}", "/checkpoint/${NS}/none/${C}", "/allocatedPods/${NS}/${POD}", "/favicon.ico", "/" + strings.Repeat("a", 100000), "/%", "/%zz", "/\x80",
	} {
		add("paths", "GET "+short(path), admin, "GET", plain("GET", path))
	}
	for _, path := range []string{
		"/run/${NS}/${POD}/${C}?cmd=true", "/run/${NS}/${POD}/${C}?cmd=", "/run/${NS}/${POD}/${UID}/${C}?cmd=true", "/run/${NS}/${POD}/x/${C}?cmd=true", "/run/${NS}/none/${C}?cmd=true",
		"/run/${NS}/${POD}/none?cmd=true", "/run/${NS}/${POD}/${C}?cmd=false", "/run/${NS}/${POD}/${C}?cmd=/nope",
		"/checkpoint/${NS}/none/${C}", "/checkpoint/${NS}/${POD}/none", "/checkpoint/${NS}/${POD}/${C}?timeout=x", "/checkpoint/${NS}/${POD}",
		"/stats/summary?only_cpu_and_memory=true", "/metrics/cadvisor", "/healthz/ping", "//pods", "/pods/", "/runningpods", "/logs/x", "/debug/pprof/symbol",
	} {
		add("paths", "POST "+short(path), admin, "POST", plain("POST", path, "Content-Length: 0"))
	}
}

func logOptions(add adder) {
	for _, q := range []string{
		"tailLines=1", "tailLines=0", "tailLines=-1", "tailLines=x", "tailLines=", "tailLines=1.5", "tailLines=99999999999999999999", "tailLines=9223372036854775807", "tailLines=1&tailLines=x", "tailLines=x&tailLines=1", "tailLines=+1", "tailLines=0x1",
		"tail=1", "tail=all", "tail=x", "tail=-1", "tail=", "tail=all&tailLines=x",
		"limitBytes=10", "limitBytes=0", "limitBytes=-1", "limitBytes=x", "limitBytes=",
		"sinceSeconds=10", "sinceSeconds=0", "sinceSeconds=-5", "sinceSeconds=x", "sinceSeconds=", "sinceSeconds=9223372036854775807",
		"sinceTime=2020-01-02T03:04:05Z", "sinceTime=2020-01-02", "sinceTime=x", "sinceTime=", "sinceTime=null", "sinceTime=2020-01-02T03:04:05.123456789%2B01:00", "sinceTime=2020-01-02T03:04:05Z&sinceSeconds=1",
		"follow=false", "follow=0", "follow=x&previous=true", "follow=", "previous=true", "previous=x", "previous=false", "previous=", "timestamps=true", "timestamps=x", "timestamps=",
		"stream=All", "stream=Stdout", "stream=Stderr", "stream=all", "stream=x", "stream=", "stream=Stdout&tailLines=1", "stream=All&tailLines=1",
		"container=other", "pretty=true", "insecureSkipTLSVerifyBackend=true", "insecureSkipTLSVerifyBackend=x", "unknown=1", "%zz", "TAILLINES=x",
	} {
		if strings.HasPrefix(q, "follow=") && q != "follow=false" && q != "follow=0" && !strings.Contains(q, "previous") {
			q += "&tailLines=1" // the answer has no end, but a beginning
		}
		add("log options", q, admin, "GET", plain("GET", "/containerLogs/${NS}/${POD}/${C}?"+q))
	}
}

func streams(add adder) {
	spdy := []string{"Connection: Upgrade", "Upgrade: SPDY/3.1", "X-Stream-Protocol-Version: v4.channel.k8s.io"}
	webSocket := func(protocol string) []string {
		return []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol: " + protocol}
	}
	ways := []struct {
		id, method string
		headers    []string
	}{
		{"plain", "POST", nil},
		{"spdy", "POST", spdy},
		{"websocket v4", "GET", webSocket("v4.channel.k8s.io")},
		{"websocket v5", "GET", webSocket("v5.channel.k8s.io")},
		{"websocket portforward", "GET", webSocket("SPDY/3.1+portforward.k8s.io")},
		{"websocket of no known protocol", "GET", webSocket("chat")},
		{"websocket without key", "GET", webSocket("v5.channel.k8s.io")[:3]},
		{"upgrade to nothing known", "POST", []string{"Connection: Upgrade", "Upgrade: h2c"}},
		{"upgrade without connection", "POST", []string{"Upgrade: SPDY/3.1"}},
		{"connection without upgrade", "POST", []string{"Connection: Upgrade"}},
		{"spdy without version", "POST", spdy[:2]},
		{"spdy of another version", "POST", []string{spdy[0], spdy[1], "X-Stream-Protocol-Version: v9"}},
	}
	for _, w := range ways {
		for _, path := range []string{"/exec/${NS}/${POD}/${C}?command=true&output=1", "/attach/${NS}/${POD}/${C}?output=1", "/portForward/${NS}/${POD}"} {
			add("streams", w.id+" "+path, admin, w.method, plain(w.method, path, w.headers...))
		}
	}
	for _, path := range []string{
		"/exec/${NS}/${POD}/${C}?command=true", "/exec/${NS}/${POD}/${C}?output=1", "/exec/${NS}/${POD}/${C}?output=0&command=true", "/exec/${NS}/${POD}/${C}?stdout=true&command=true", "/exec/${NS}/${POD}/${C}?output=1&error=1&tty=1&command=true",
		"/exec/${NS}/${POD}/${C}?tty=1&command=true", "/exec/${NS}/${POD}/none?output=1&command=true", "/exec/${NS}/none/${C}?output=1&command=true", "/exec/none/${POD}/${C}?output=1&command=true",
		"/exec/${NS}/${POD}/x/${C}?output=1&command=true", "/exec/${NS}/${POD}/${UID}/${C}?output=1&command=true", "/exec/${NS}/${POD}/${C}?output=1&command=/nope", "/attach/${NS}/${POD}/none?output=1", "/attach/${NS}/none/${C}?output=1",
		"/attach/${NS}/${POD}/x/${C}?output=1", "/attach/${NS}/${POD}/${C}", "/portForward/${NS}/none", "/portForward/${NS}/${POD}/x", "/portForward/${NS}/${POD}/${UID}", "/portForward/${NS}/${POD}?port=80", "/portForward/${NS}/${POD}?port=x",
	} {
		add("streams", "POST spdy "+path, admin, "POST", plain("POST", path, spdy...))
	}
	for _, q := range []string{"", "?port=80", "?port=0", "?port=x", "?port=65536", "?port=-1", "?port=80&port=81", "?ports=80"} {
		add("streams", "websocket portForward"+q, admin, "GET", plain("GET", "/portForward/${NS}/${POD}"+q, webSocket("v4.channel.k8s.io")...))
	}
}

// wire is what is wrong, or odd, below HTTP's meaning.
func wire(add adder) {
	line := func(id, method, raw string) { add("wire", id, admin, method, raw) }
	line("HTTP/1.0", "GET", "GET /pods HTTP/1.0\r\n${AUTH}\r\n")
	line("HTTP/1.0 keep-alive", "GET", "GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n${AUTH}\r\n")
	line("HTTP/0.9", "GET", "GET /pods\r\n\r\n")
	line("HTTP/3.0", "GET", "GET /pods HTTP/3.0\r\nHost: x\r\n${AUTH}\r\n")
	line("no host", "GET", "GET /pods HTTP/1.1\r\n${AUTH}\r\n")
	line("two hosts", "GET", "GET /pods HTTP/1.1\r\nHost: a\r\nHost: b\r\n${AUTH}\r\n")
	line("odd host", "GET", "GET /pods HTTP/1.1\r\nHost: a b\r\n${AUTH}\r\n")
	line("absolute target", "GET", plain("GET", "https://elsewhere/pods"))
	line("target without slash", "GET", plain("GET", "pods"))
	line("asterisk", "OPTIONS", plain("OPTIONS", "*"))
	line("asterisk for GET", "GET", plain("GET", "*"))
	line("CONNECT", "CONNECT", plain("CONNECT", "node:80"))
	line("CONNECT with a path", "CONNECT", plain("CONNECT", "/pods"))
	line("line feeds alone", "GET", "GET /healthz HTTP/1.1\nHost: x\n${AUTH}\n")
	line("spaces in the line", "GET", plain("GET", "/pods x"))
	line("header with a space in its name", "GET", plain("GET", "/healthz", "X y: z"))
	line("header without colon", "GET", plain("GET", "/healthz", "nonsense"))
	line("header continued", "GET", plain("GET", "/healthz", "X: y\r\n z"))
	line("NUL in a header", "GET", plain("GET", "/healthz", "X: \x00"))
	line("header of other bytes", "GET", plain("GET", "/healthz", "X: \xff\xfe"))
	line("1000 headers", "GET", plain("GET", "/healthz", slices.Repeat([]string{"X: y"}, 1000)...))
	line("2 MB of headers", "GET", plain("GET", "/healthz", "X: "+strings.Repeat("y", 2<<20)))
	line("900 kB of headers", "GET", plain("GET", "/healthz", "X: "+strings.Repeat("y", 900<<10)))
	line("900 kB of path", "GET", plain("GET", "/healthz?"+strings.Repeat("y", 900<<10)))
	line("negative length", "POST", plain("POST", "/pods", "Content-Length: -1"))
	line("length of nonsense", "POST", plain("POST", "/pods", "Content-Length: x"))
	line("two lengths", "POST", plain("POST", "/pods", "Content-Length: 1", "Content-Length: 2"))
	line("length and chunks", "POST", plain("POST", "/pods", "Content-Length: 5", "Transfer-Encoding: chunked")+"0\r\n\r\n")
	line("encoding that is not known", "POST", plain("POST", "/pods", "Transfer-Encoding: gzip"))
	line("chunks of nonsense", "POST", plain("POST", "/run/${NS}/none/${C}", "Transfer-Encoding: chunked")+"zzz\r\n")
	line("chunk of a huge length", "POST", plain("POST", "/run/${NS}/none/${C}", "Transfer-Encoding: chunked")+"ffffffffffffffffff\r\n")
	line("body with GET", "GET", plain("GET", "/healthz", "Content-Length: 5")+"hello")
	line("chunked body with GET", "GET", plain("GET", "/healthz", "Transfer-Encoding: chunked")+"5\r\nhello\r\n0\r\n\r\n")
	line("expectation", "POST", plain("POST", "/run/${NS}/none/${C}", "Expect: 100-continue", "Content-Length: 5"))
	line("expectation that is not known", "POST", plain("POST", "/run/${NS}/none/${C}", "Expect: x", "Content-Length: 0"))
	line("form", "POST", plain("POST", "/run/${NS}/none/${C}", "Content-Type: application/x-www-form-urlencoded", "Content-Length: 8")+"cmd=true")
	line("accept of XML", "GET", plain("GET", "/pods", "Accept: application/xml"))
	line("accept of protobuf", "GET", plain("GET", "/pods", "Accept: application/vnd.kubernetes.protobuf"))
	line("accept of XML for the summary", "GET", plain("GET", "/stats/summary", "Accept: application/xml"))
	line("accept of OpenMetrics", "GET", plain("GET", "/metrics", "Accept: application/openmetrics-text"))
	for _, kind := range []string{"Statusz", "Flagz"} {
		path := "/" + strings.ToLower(kind)
		for id, accept := range map[string]string{
			"anything": "*/*", "text": "text/plain", "JSON": "application/json", "an object": "application/json;as=" + kind + ";v=v1beta1;g=config.k8s.io",
			"an older object": "application/json;as=" + kind + ";v=v1alpha1;g=config.k8s.io", "an object of no known version": "application/json;as=" + kind + ";v=v9;g=config.k8s.io",
			"an object of no known kind": "application/json;as=Nope;v=v1beta1;g=config.k8s.io", "an object in YAML": "application/yaml;as=" + kind + ";v=v1beta1;g=config.k8s.io",
			"text as an object": "text/plain;as=" + kind + ";v=v1beta1;g=config.k8s.io", "an object or text": "application/json;as=Nope;v=v1;g=x, text/plain;q=0.5",
			"text sooner than an object": "application/json;as=" + kind + ";v=v1beta1;g=config.k8s.io;q=0.1,text/plain;q=0.9", "protobuf": "application/vnd.kubernetes.protobuf", "nonsense": "x", "nothing": " ",
		} {
			line("accept of "+id+" for "+path, "GET", plain("GET", path, "Accept: "+accept))
		}
	}
	line("gzip", "GET", plain("GET", "/metrics", "Accept-Encoding: gzip"))
	line("content type of nonsense", "GET", plain("GET", "/pods", "Content-Type: x/y"))
	line("range", "GET", plain("GET", "/logs/nope", "Range: bytes=0-1"))
	line("upgrade to HTTP/2", "GET", plain("GET", "/healthz", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"))
	line("preface of HTTP/2", "PRI", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	line("not HTTP", "GET", "\x16\x03\x01\x00\x05hello\r\n\r\n")
	line("nothing", "GET", "\r\n\r\n")
	line("flags without body", "PUT", plain("PUT", "/debug/flags/v", "Content-Length: 0"))
	line("flags with nonsense", "PUT", plain("PUT", "/debug/flags/v", "Content-Length: 1")+"x")
	line("flags with a level", "PUT", plain("PUT", "/debug/flags/v", "Content-Length: 1")+"2")
}

// short is how an id shows a long text, or one that is none.
func short(s string) string {
	if !utf8.ValidString(s) {
		return strings.Trim(strconv.QuoteToASCII(s), `"`)
	}
	if len(s) > 100 {
		return fmt.Sprintf("%s… (%d bytes)", s[:40], len(s))
	}
	return s
}
