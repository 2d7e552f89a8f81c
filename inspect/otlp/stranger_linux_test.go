package otlp

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// strangerEnv makes this test's program a sender of another user: it posts standard input to the address in it.
const strangerEnv = "KUBELOUPE_TEST_STRANGER"

const nobody = 65534

func TestMain(m *testing.M) {
	if how, addr, ok := strings.Cut(os.Getenv(strangerEnv), " "); ok {
		beStranger(how, addr)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// beStranger sends, and prints what came back.
func beStranger(how, addr string) {
	body, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	if how == "post" {
		resp, err := http.Post("http://"+addr+"/v1/traces", typeProto, bytes.NewReader(body))
		if err != nil {
			fmt.Println("refused:", err)
			return
		}
		_ = resp.Body.Close()
		fmt.Println("answered:", resp.Status)
		return
	}
	// The request is there before the connection is looked at, and its end is closed: of such the kernel says that it is root's.
	for range 200 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			fmt.Println("refused:", err)
			return
		}
		_, _ = fmt.Fprintf(c, "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", typeProto, len(body), body)
		if how == "reset" {
			_ = c.(*net.TCPConn).SetLinger(0)
		}
		_ = c.Close()
	}
	fmt.Println("sent")
}

// asNobody sends as another user.
func asNobody(t *testing.T, how, addr string, body []byte) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe") // its directory may be closed to others
	cmd.Env = []string{strangerEnv + "=" + how + " " + addr}
	cmd.Stdin = bytes.NewReader(body)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// TestStrangers: whoever is neither root nor this user is closed without an answer, however they go about it, and a log says so once.
func TestStrangers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be another user")
	}
	b := start(t)
	call := b.call(trace.Span{}, web)
	body := encode(t, request(pbSpan(call.Trace, 7, call.ID, "forged")))
	for _, addr := range []string{b.http, b.grpc} {
		if got := asNobody(t, "post", addr, body); !strings.HasPrefix(got, "refused: ") {
			t.Errorf("%s: %s", addr, got)
		}
	}
	for _, how := range []string{"close", "reset"} {
		asNobody(t, how, b.http, body)
	}
	if code, _ := b.post(typeProto, "", encode(t, request(pbSpan(call.Trace, 8, call.ID, "true")))); code != http.StatusOK {
		t.Errorf("root: %d", code)
	}
	if got := b.next(1)[0]; got.Span != 8 {
		t.Errorf("a forged span is published: %+v", got)
	}
	st := b.Stats()
	if st.Published != 1 || st.Strangers < 300 {
		t.Errorf("%+v", st)
	}
	if n := len(b.logs("refused a connection")); n != 1 {
		t.Errorf("told %d times", n)
	}
}

// logs are the log records with a text so far.
func (b *bench) logs(text string) (out []*trace.Log) {
	cursor := b.bus.Subscribe(trace.FromOldest)
	defer cursor.Close()
	buf := make([]trace.Record, 0, 256)
	for recs, _ := cursor.Poll(buf); len(recs) > 0; recs, _ = cursor.Poll(buf) {
		for _, r := range recs {
			if e, ok := r.Event.(*trace.Log); ok && strings.Contains(e.Message, text) {
				out = append(out, e)
			}
		}
	}
	return out
}

// TestSilentGiveWay: connections that say nothing, or stop in the middle of a request, do not keep a new one out.
func TestSilentGiveWay(t *testing.T) {
	b := start(t)
	call := b.call(trace.Span{}, web)
	for _, addr := range []string{b.http, b.grpc} {
		for i := range 3 * maxConns {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			if i%2 == 0 {
				_, _ = fmt.Fprintf(c, "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: 1000000\r\n\r\n", typeProto)
			}
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if code, _ := b.post(typeProto, "", encode(t, request(pbSpan(call.Trace, 1, call.ID, "http")))); code != http.StatusOK {
			t.Errorf("%d", code)
		}
		if _, err := b.export(request(pbSpan(call.Trace, 2, call.ID, "grpc"))); err != nil {
			t.Error(err)
		}
	}()
	select {
	case <-ended:
		b.next(2)
	case <-time.After(time.Minute):
		t.Fatal("a new connection is not served")
	}
}

// TestNotices: what is dropped is told once, with how often.
func TestNotices(t *testing.T) {
	b := start(t)
	call := b.call(trace.Span{}, web)
	old := pbSpan(call.Trace, 1, call.ID, "old")
	old.StartTimeUnixNano -= uint64(time.Hour)
	later := pbSpan(call.Trace, 2, call.ID, "later")
	later.EndTimeUnixNano += uint64(time.Hour)
	if _, err := b.export(request(old, later, pbSpan(call.Trace, 3, call.ID, "good"))); err != nil {
		t.Fatal(err)
	}
	if got := b.next(1)[0].Span; got != 3 {
		t.Errorf("%v is published", got)
	}
	if got := b.logs("outside the time of the call"); len(got) != 1 || got[0].Attrs[0].V != "1" || b.Stats().Outside != 2 {
		t.Errorf("%d logs, %+v", len(got), b.Stats())
	}
}
