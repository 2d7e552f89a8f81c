package cluster

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/inspect/report"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
)

// The ways by which secrets may get out.

// run runs the program.
func (c *canaries) run(args ...string) (string, error) {
	return runProgram(context.WithoutCancel(c.t.Context()), c.bench.binary, args...)
}

// ask looks at what a command of the program says.
func (c *canaries) ask(s *space, args ...string) string {
	c.t.Helper()
	out, err := c.run(args...)
	if err != nil && !strings.Contains(strings.Join(args, " "), "why") {
		c.t.Errorf("%v: %v\n%s", args, err, out)
	}
	c.look(strings.ReplaceAll(strings.Join(args, " "), s.name, "NS"), []byte(out))
	return out
}

// everything asks everything.
func (c *canaries) everything(s *space, pods []string, recording string, readOnly int) {
	c.t.Helper()
	t, dir := c.t, c.t.TempDir()
	path := filepath.Join(c.agent.RootDir, "kubeloupe.sock")
	socket := "--socket=" + path
	c.step(s, socket)
	c.servers(s, readOnly)
	more := filepath.Join(dir, "live.klr")
	c.ask(s, "record", more, socket, "--for", "2s")
	for _, args := range [][]string{
		{"events", socket, "-o", "wide"},
		{"events", socket, "-o", "json"},
		{"events", "--from=" + more, "-o", "json"},
		{"events", "--from=" + recording, "-o", "text"},
		{"events", "--from=" + recording, "-o", "json"},
		{"replay", recording, "-o", "wide"},
		{"why", "--all", socket},
		{"why", "--all", "--from=" + recording},
		{"trace", "--all", socket, "-o", "text"},
		{"trace", "--all", socket, "-o", "json"},
		{"trace", "--all", socket, "-o", "csv"},
		{"inspect", "cgroup", s.name + "/ways", socket, "-o", "json"},
		{"inspect", "node", socket, "-o", "yaml"},
		{"trace", "--diff", s.name + "/ways", s.name + "/last", "--from=" + recording, "-o", "markdown"},
	} {
		c.ask(s, args...)
	}
	for _, subject := range report.Subjects() {
		if subject.Name != "pod" {
			c.ask(s, "inspect", subject.Name, socket, "-o", "wide")
			c.ask(s, "inspect", subject.Name, socket, "-o", "json")
		}
	}
	for _, pod := range []string{"ways", "csi", "staged", "private", "envfile", "expanded", "changed", "debugged", "certified"} {
		c.ask(s, "inspect", "pod", s.name+"/"+pod, socket, "-o", "wide")
		c.ask(s, "why", s.name+"/"+pod, socket, "-o", "json")
	}
	c.ask(s, "inspect", "pod", s.name+"/ways", socket, "-o", "json")
	c.ask(s, "why", s.name+"/csi", socket)
	for _, format := range []string{"text", "json", "svg", "html", "markdown"} {
		to := filepath.Join(dir, "ways."+format)
		c.ask(s, "trace", s.name+"/ways", socket, "-o", format, "--to", to)
		c.file("trace -o "+format, to)
	}
	for _, format := range []string{"perfetto", "otlp", "otlp-json"} {
		to := filepath.Join(dir, "session."+format)
		c.ask(s, "trace", "-o", format, "--to", to, "--from", recording)
		c.file("the session as "+format, to)
	}
	c.file("the recording", recording) // its chunks are compressed: they were looked at by way of the commands
	c.raw(s, path)
	for _, kind := range []string{"events", "nodes", "leases", "certificatesigningrequests", "pods"} {
		out, err := c.bench.Kubectl(t.Context(), "get", kind, "-A", "-o", "json")
		must(t, err)
		where := "API " + kind
		if kind == "events" {
			where = "Events"
		}
		c.look(where, []byte(out))
	}
	for _, pod := range pods {
		if p, err := s.get(pod); err == nil && pod != "said" { // the last words of that are its own
			c.look("the status of "+pod, []byte(p.Status.String()))
		}
	}
}

// raw asks at the control socket itself.
func (c *canaries) raw(s *space, path string) {
	c.t.Helper()
	requests := []string{
		`{"events":{"backlog":true}}`, `{"events":{"backlog":true,"pod":"` + s.name + `/ways"}}`, `{"events":{"backlog":true,"kinds":["cri.call"]}}`,
		`{"step":{"pod":"` + s.name + `/csi"}}`, `{"query":{"what":"secrets"}}`, `{"query":{}}`, `{}`, `no JSON`,
	}
	for _, what := range []string{"config", "images", "cgroup", "node"} {
		requests = append(requests, `{"query":{"what":"`+what+`"}}`, `{"query":{"what":"`+what+`","args":{"pod":"`+s.name+`/ways"}}}`)
	}
	for _, request := range requests {
		conn, err := net.Dial("unix", path)
		must(c.t, err)
		must(c.t, conn.SetDeadline(time.Now().Add(deadline)))
		_, err = conn.Write([]byte(request + "\n"))
		must(c.t, err)
		from := bufio.NewReader(conn)
		if strings.Contains(request, `"step"`) {
			for _, line := range []string{"p", "p pod", "p status", "i", "where", "help"} {
				_, err = fmt.Fprintf(conn, "{\"id\":1,\"line\":%q}\n", line)
				must(c.t, err)
			}
			_, err = from.Peek(1) // late, on a machine that is busy
			must(c.t, err)
			must(c.t, conn.SetReadDeadline(time.Now().Add(2*time.Second)))
		}
		out, err := io.ReadAll(from)
		if err != nil && !strings.Contains(request, `"step"`) || len(out) == 0 {
			c.t.Errorf("%s: %v", request, err)
		}
		c.look("the control socket, asked "+strings.ReplaceAll(request, s.name, "NS"), out)
		_ = conn.Close()
	}
}

// step holds a pod while it is made, and prints all that can be printed.
func (c *canaries) step(s *space, socket string) {
	c.t.Helper()
	script := filepath.Join(c.t.TempDir(), "script")
	must(c.t, os.WriteFile(script, []byte("b create main\nc\np\np pod\np status\ns\np\nn\ni\ndiff start\nwhere\nuntil started\np\np pod\np status\nq\n"), 0o600))
	stepped := pod("stepped", forever)
	c.main(stepped)
	stepped.Spec.Containers = stepped.Spec.Containers[:1]
	done := make(chan string)
	go func() {
		out, _ := c.run("step", "--pod", s.name+"/stepped", "--creation", socket, "--script", script, "--transcript", script+".log")
		done <- out
	}()
	c.agent.record("a session", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Log)
		return ok && strings.Contains(e.Message, s.name+"/stepped")
	})
	s.create(stepped)
	out := <-done
	if !strings.Contains(out, "CreateContainerRequest") || !strings.Contains(out, "[redacted]@db") {
		c.t.Errorf("step shows no request: %s", out)
	}
	c.look("step", []byte(out))
	c.file("the transcript", script+".log")
}

// put sends something to the agent's server.
func (c *canaries) put(path, body string) {
	c.t.Helper()
	out, err := c.bench.client.CoreV1().RESTClient().Put().AbsPath("/api/v1/nodes/" + lab.NodeName + "/proxy/" + path).Body([]byte(body)).DoRaw(c.t.Context())
	if err != nil {
		c.t.Errorf("PUT %s: %v %s", path, err, out)
	}
}

// servers asks the agent's own HTTP servers: by way of the API server those that want to know who asks, and the others.
func (c *canaries) servers(s *space, readOnly int) {
	c.t.Helper()
	api := c.bench.client.CoreV1().RESTClient()
	proxy := "/api/v1/nodes/" + lab.NodeName + "/proxy/"
	for _, path := range []string{
		"configz", "healthz", "metrics", "metrics/cadvisor", "metrics/probes", "metrics/resource", "metrics/slis", "pods", "runningpods/", "stats/summary",
		"statusz", "flagz", "logs/", "debug/pprof/", "debug/pprof/goroutine?debug=1", "debug/pprof/goroutine?debug=2", "debug/pprof/heap?debug=1", "debug/pprof/heap",
		"debug/pprof/allocs?debug=1", "debug/pprof/cmdline", "debug/pprof/profile?seconds=1", "debug/pprof/trace?seconds=1", "debug/pprof/symbol", "nothing",
	} {
		path, query, _ := strings.Cut(path, "?")
		req := api.Get().AbsPath(proxy + path)
		if k, v, ok := strings.Cut(query, "="); ok {
			req = req.Param(k, v)
		}
		out, err := req.DoRaw(c.t.Context())
		if err != nil && path != "nothing" {
			c.t.Logf("%s: %v", path, err)
		}
		c.look("/"+path, out)
	}
	ran := c.secret("run")
	if out, err := api.Post().AbsPath(proxy+"run/"+s.name+"/ways/main").Param("cmd", "echo "+ran).DoRaw(c.t.Context()); err != nil || !strings.Contains(string(out), ran) {
		c.t.Errorf("run: %v %s", err, out)
	}
	for _, path := range []string{"pods", "metrics", "stats/summary", "healthz", "nothing"} {
		c.look("10255/"+path, []byte(c.get(&http.Client{}, fmt.Sprintf("http://%s:%d/%s", c.bench.NodeIP, readOnly, path), nil)))
	}
	port := regexp.MustCompile(`healthzPort: (\d+)`).FindStringSubmatch(read(c.t, c.bench.KubeletConfig))[1]
	for _, path := range []string{"healthz", "healthz?verbose", "metrics", "nothing"} {
		c.look("10248/"+path, []byte(c.get(&http.Client{}, "http://127.0.0.1:"+port+"/"+path, nil)))
	}
}

// strangers shows the agent's servers who one is, in every way there is.
func (c *canaries) strangers(readOnly int) {
	c.t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	for where, base := range map[string]string{
		"10250": fmt.Sprintf("https://%s:%d", c.bench.NodeIP, c.bench.KubeletPort), "10255": fmt.Sprintf("http://%s:%d", c.bench.NodeIP, readOnly),
	} {
		for _, show := range []func(h http.Header) string{
			func(h http.Header) string { h.Set("Authorization", "Bearer "+c.secret("bearer")); return "" },
			func(h http.Header) string {
				h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("me:"+c.secret("basic"))))
				return ""
			},
			func(h http.Header) string { h.Set("Cookie", "session="+c.secret("cookie")); return "" },
			func(http.Header) string { return "?token=" + c.secret("asked") },
			func(h http.Header) string {
				h.Set("Connection", "Upgrade")
				h.Set("Upgrade", "websocket")
				h.Set("Sec-WebSocket-Protocol", "base64url.bearer.authorization.k8s.io."+base64.RawURLEncoding.EncodeToString([]byte(c.secret("socket"))))
				return ""
			},
		} {
			h := http.Header{}
			query := show(h)
			c.look(where+"/pods of a stranger", []byte(c.get(client, base+"/pods"+query, h)))
		}
	}
}

// get asks until there is an answer: the agent gives up a client that is slow, as on a machine that is busy.
func (c *canaries) get(client *http.Client, url string, header http.Header) (body string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, url, http.NoBody)
	must(c.t, err)
	if header != nil {
		req.Header = header
	}
	eventually(c.t, "an answer of "+url, func() string {
		resp, err := client.Do(req)
		if err != nil {
			return err.Error()
		}
		defer func() { _ = resp.Body.Close() }()
		text, _ := io.ReadAll(resp.Body)
		body = string(text)
		return ""
	})
	return body
}

// spans tells the agent, as a runtime does, of work for the main pod, with a secret of it wherever text may be.
func (c *canaries) spans(s *space) {
	c.t.Helper()
	p, err := s.client.CoreV1().Secrets(s.name).Get(c.t.Context(), "s", metav1.GetOptions{})
	must(c.t, err)
	value := string(p.Data["span"])
	eventually(c.t, "a span with a secret", func() string {
		var call *trace.Record
		for _, r := range c.agent.find(func(r *trace.Record) bool {
			e, ok := r.Event.(*trace.CRICall)
			return ok && e.Method == "ExecSync" && r.Pod.Name == "ways" && r.Edge == trace.EdgeEnd
		}) {
			call = &r
		}
		if call == nil {
			return "no call"
		}
		c.post(call, value)
		for range 10 {
			time.Sleep(100 * time.Millisecond)
			if strings.Contains(c.agent.said(), "canary.span") {
				return ""
			}
		}
		return "not told"
	})
}

func (c *canaries) post(call *trace.Record, value string) {
	c.t.Helper()
	attr := func(k string) []*commonpb.KeyValue {
		return []*commonpb.KeyValue{{Key: k, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: "env KEY=" + value + " and " + base64.StdEncoding.EncodeToString([]byte("x="+value))}}}}
	}
	be := binary.BigEndian
	at := uint64(call.Time - int64(call.Dur))
	span := func(name string) *tracepb.Span {
		return &tracepb.Span{
			TraceId: be.AppendUint64(be.AppendUint64(nil, call.Trace.Hi), call.Trace.Lo), SpanId: be.AppendUint64(nil, uint64(time.Now().UnixNano())),
			ParentSpanId: be.AppendUint64(nil, uint64(call.Span)), Name: name, StartTimeUnixNano: at, EndTimeUnixNano: at + 1000,
			Attributes: attr("process.args"), Events: []*tracepb.Span_Event{{TimeUnixNano: at, Name: "said " + value, Attributes: attr("said")}},
			Status: &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "cannot " + value},
		}
	}
	body, err := proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{
		ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{span("canary.span"), span("exec " + value), span(value)}}},
	}}})
	must(c.t, err)
	resp, err := http.Post(c.bench.OTLPEndpoint+"/v1/traces", "application/x-protobuf", bytes.NewReader(body))
	if err != nil {
		return // it is tried again
	}
	_ = resp.Body.Close()
}

// files looks at all that the agent wrote, and at the names of it, but for what containers are to read.
func (c *canaries) files(root string) {
	c.t.Helper()
	meant := regexp.MustCompile(`/pods/[^/]+/(volumes/kubernetes.io~(secret|projected|empty-dir)|volume-subpaths)/`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || meant.MatchString(path) {
			return nil
		}
		name := strings.TrimPrefix(path, root)
		c.look("the name "+name, []byte(name))
		if !d.Type().IsRegular() {
			return nil
		}
		// The agent runs, and removes files, such as those that it has just renamed.
		if err := c.lookIn(strings.TrimPrefix(name, "/root"), path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	must(c.t, err)
}
