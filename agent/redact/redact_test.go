package redact

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const canary = "cAnArY-7f3a \"quoted\"/&?=+\ntwo lines"

func TestBlank(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 300) // longer than the searched part
	v := NewVault()
	v.Learn("p", "secret a/b", canary, "hunter2", "Z9x!", "abc", "postgres", long, "trailing-newline\n")
	v.Learn(Node, "bootstrap", "abcdef.0123456789abcdef")
	v.Learn("q", "secret", "another-pods-value", "short one")
	v.Public("p", func() string { return `{"containers":[{"name":"postgres","image":"postgres:16"}]}` })
	for _, c := range []struct{ name, uid, text, want string }{
		{"nothing", "p", "exec: not found", "exec: not found"},
		{"as it is", "p", "exec: " + canary + ": not found", "exec: [redacted]: not found"},
		{"quoted", "p", fmt.Sprintf("exec: %q: not found", canary), `exec: "[redacted]": not found`},
		{"a line", "p", `"cAnArY-7f3a "quoted"/&?=+" and two lines`, `"[redacted]" and [redacted]`},
		{"in a query", "p", "GET /?p=" + url.QueryEscape(canary) + "&x=1", "GET /?p=[redacted]&x=1"},
		{"in a path", "p", "GET /" + url.PathEscape(canary), "GET /[redacted]"},
		{"base64", "p", "env: Y0FuQXJZLTdmM2EgInF1b3RlZCIvJj89Kwp0d28gbGluZXM=", "env: [redacted]="},
		{"JSON", "p", `{"v":"cAnArY-7f3a \"quoted\"/\u0026?=+\ntwo lines"}`, `{"v":"[redacted]"}`},
		{"cut short", "p", `exec: "cAnArY-7f3a "quo`, `exec: "[redacted]`},
		{"twice", "p", "trailing-newlinetrailing-newline", "[redacted]"},
		{"short word", "p", "hunter2: no", "[redacted]: no"},
		{"not within a word", "p", "hunter22 xhunter2", "hunter22 xhunter2"},
		{"shortest", "p", "pin=Z9x!;", "pin=[redacted];"},
		{"too short", "p", "abc", "abc"},
		{"in the manifest", "p", `image "postgres:16" not found`, `image "postgres:16" not found`},
		{"longer than is looked for", "p", "key " + long + " end", "key [redacted] end"},
		{"the node's", "p", "token abcdef.0123456789abcdef", "token [redacted]"},
		{"another pod's", "p", "another-pods-value", "another-pods-value"},
		{"distinct, of no pod", Node, "another-pods-value", "[redacted]"},
		{"common, of no pod", Node, "short one hunter2", "short one hunter2"},
		{"unknown pod", "r", "hunter2", "hunter2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, v.Text(c.uid, c.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGenerations(t *testing.T) {
	v := NewVault()
	for _, s := range []string{"first-value", "second-value", "third-value"} {
		v.Learn("p", "secret", s)
	}
	if got := v.Text("p", "first-value second-value third-value"); got != "first-value [redacted] [redacted]" {
		t.Error(got)
	}
	v.Forget("p")
	if got := v.Text("p", "third-value"); got != Mark {
		t.Error("what comes late:", got)
	}
	for i := range maxGone {
		uid := fmt.Sprint(i)
		v.Learn(uid, "secret", "some-value")
		v.Forget(uid)
	}
	if got := v.Text("p", "third-value"); got != "third-value" || len(v.owners) != maxGone {
		t.Error(got, len(v.owners))
	}
}

// The cost of a pod's Secrets is limited, and other texts are not redacted more.
func TestFull(t *testing.T) {
	v := NewVault()
	for i := range 100 {
		v.Learn("p", fmt.Sprint("secret", i), strings.Repeat(fmt.Sprint(i, "-"), maxValue))
	}
	if got := v.Text("p", "some text"); !strings.HasPrefix(got, Mark) || strings.Contains(got, "some") {
		t.Error(got)
	}
	if got := v.Text("q", "some text"); got != "some text" {
		t.Error(got)
	}
	if got := v.Text(Node, "some text"); got != "some text" {
		t.Error("a pod blanks the node's texts:", got)
	}
	crowd := NewVault()
	for i := range 100 {
		crowd.Learn("p", fmt.Sprint("secret", i), fmt.Sprintf("password-%d", i))
	}
	if got := crowd.Text("p", "a password-7, b\nc"); got != "a [redacted]\nc" {
		t.Error(got)
	}
}

// A long text that resembles a secret at every position is searched in linear time.
func TestHostileText(t *testing.T) {
	v := NewVault()
	v.Learn("p", "secret", strings.Repeat("a", maxValue-1)+"b")
	text := strings.Repeat("aaaaaaaaaaaaaaa-", 1<<20)
	if got := v.Text("p", text); len(got) > maxText+100 {
		t.Error(len(got))
	}
}

func TestNil(t *testing.T) {
	var v *Vault
	v.Learn("p", "s", "value")
	v.Public("p", func() string { return "m" })
	v.Forget("p")
	if v.For("p") != nil || v.Text("p", "value") != "value" {
		t.Error("a nil vault knows something")
	}
}

func TestURL(t *testing.T) {
	for raw, want := range map[string]string{
		"https://user:pw@host:8080/pods/a%2Fb?token=x#frag": "https://host:8080/pods/a%2Fb",
		"http://host":          "http://host",
		"mailto:user@host":     "mailto:[redacted]",
		"http://user:pw@ho st": "(not a URL)",
		"/path?q":              "/path",
		"":                     "",
	} {
		if got := URL(raw); got != want {
			t.Errorf("URL(%q) = %q, want %q", raw, got, want)
		}
	}
	cause := errors.New("refused")
	err := URLError(fmt.Errorf("read: %w", &url.Error{Op: "Get", URL: "http://u:p@h/x?t=1", Err: &url.Error{Op: "proxyconnect", URL: "http://q:r@s", Err: cause}}))
	if err.Error() != `Get "http://h/x": proxyconnect "http://s": refused` || !errors.Is(err, cause) {
		t.Error(err)
	}
}

func TestURLSecrets(t *testing.T) {
	for raw, want := range map[string][]string{
		"https://me:pass@host/":       {"me", "pass", "me:pass"},
		"https://token@host":          {"token", "", "token"},
		"me:pass@host:3128":           {"me", "pass", "me:pass"},   // as a proxy may be configured
		"http://me:p%40ss@host":       {"me", "p@ss", "me:p%40ss"}, // net/http sends and quotes both forms
		"http://me:p%zz@host:1":       {"me", "p%zz", "me:p%zz"},   // an error quotes it
		"http://me:pa ss/2@at@host:1": {"me", "pa ss/2@at", "me:pa ss/2@at"},
		"https://host/at@path?q=a@b":  nil,
		"host:3128":                   nil,
		"%zz":                         nil,
		"":                            nil,
	} {
		if diff := cmp.Diff(want, URLSecrets(raw)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", raw, diff)
		}
	}
}

func TestArgs(t *testing.T) {
	in := []string{
		"kubeloupe", "run", "--manifest-url=http://u:p@h/x?t=1", "--manifest-url", "http://u:p@h/y?t=1", "--manifest-url-header=A:b,C:d", "-manifest-url-header", "E:f",
		"--node-labels=a=b", "--v", "2",
	}
	want := []string{
		"kubeloupe", "run", "--manifest-url=http://h/x", "--manifest-url", "http://h/y", "--manifest-url-header=[redacted]", "-manifest-url-header", "[redacted]",
		"--node-labels=a=b", "--v", "2",
	}
	if d := cmp.Diff(want, Args(in)); d != "" {
		t.Error(d)
	}
}

// Encoders and unknown quoting leave no readable part of a secret.
func TestSpellings(t *testing.T) {
	const head, tail = "cAnArYhead7f3a9b", "cAnArYtail00c4d2"
	value := head + "\"q'\\&<>/+= %é$" + tail
	v := NewVault()
	v.Learn("p", "secret", value, "hunter2!")
	twice, err := json.Marshal(fmt.Sprintf("%q", value))
	if err != nil {
		t.Fatal(err)
	}
	object, err := json.Marshal(map[string]string{"password": value})
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{
		value, fmt.Sprintf("%q", value), fmt.Sprintf("%+q", value), string(twice), fmt.Sprintf("%q", twice), string(object),
		"'" + strings.ReplaceAll(value, "'", `'\''`) + "'", url.QueryEscape(value), url.PathEscape(value), fmt.Sprintf("%x %X", value, value),
		"said " + head + "…", "said " + head[:9] + "...", "said " + head[:5] + "…[clipped: 900 bytes]", "said hunter2…",
	}
	for shift := range 3 {
		before := strings.Repeat("-", shift)
		texts = append(texts, base64.StdEncoding.EncodeToString([]byte(before+value+"after")), base64.URLEncoding.EncodeToString([]byte(before+string(object))))
	}
	for _, text := range texts {
		got := v.Text("p", text)
		for _, part := range []string{head, tail, "hunter2", "cAnA", fmt.Sprintf("%x", head), fmt.Sprintf("%X", tail)} {
			if strings.Contains(got, part) {
				t.Errorf("%s: %s", text, got)
			}
		}
		for _, word := range regexp.MustCompile(`[A-Za-z0-9+/_-]{8,}`).FindAllString(got, -1) {
			for shift := range min(4, len(word)) { // at each position of its groups of four
				plain, _ := base64.RawStdEncoding.DecodeString(strings.NewReplacer("-", "+", "_", "/").Replace(word[shift : shift+(len(word)-shift)/4*4]))
				if strings.Contains(string(plain), "nAr") || strings.Contains(string(plain), "tail") {
					t.Errorf("%s: %s, which is %q", text, got, plain)
				}
			}
		}
	}
}

// The runtime's message about a container of an earlier agent may quote values that this agent does not know yet.
func TestSaid(t *testing.T) {
	v := NewVault()
	if got := v.Said("p", "web", `exec: "hunter2222"`); got != "[redacted] (18 bytes of an earlier agent's container)" {
		t.Error(got)
	}
	v.Learn("p", Environment("web"))
	if got := v.Said("p", "web", "plain"); got != "plain" {
		t.Error(got)
	}
	v.Learn("p", Environment("web"), "hunter2222")
	if got := v.Said("p", "web", `exec: "hunter2222"`); got != `exec: "[redacted]"` {
		t.Error(got)
	}
	if got := v.Said("p", "other", ""); got != "" {
		t.Error(got)
	}
}

// Values of a pod that is already gone are removed by Keep.
func TestKeep(t *testing.T) {
	v := NewVault()
	v.Learn(Node, "proxy", "node-password")
	for i := range 1000 {
		uid := strconv.Itoa(i)
		v.Learn(uid, "token", "value-of-"+uid)
		v.Forget(uid)
		v.Learn(uid, "token", "late-value-of-"+uid) // a call that hung
	}
	v.Keep(func(uid string) bool { return uid == "7" })
	if n := len(v.owners); n > maxGone+2 {
		t.Errorf("%d owners are kept, want the node, the one that is known and %d that are gone", n, maxGone)
	}
	for uid, text := range map[string]string{"7": "late-value-of-7", "1": "node-password"} {
		if got := v.Text(uid, text); strings.Contains(got, text) {
			t.Errorf("pod %s: %q is shown", uid, got)
		}
	}
}

// A pod with a large manifest and many secrets takes linear time, and does not block others meanwhile.
func TestLargeManifestHoldsNobodyUp(t *testing.T) {
	v := NewVault()
	var manifest strings.Builder
	values := make([]string, 0, 4000)
	for i := range 4000 {
		values = append(values, fmt.Sprintf("aaaaaaaa%04d", i))
	}
	for manifest.Len() < 1<<20 {
		manifest.WriteString("aaaaaaaa-")
	}
	called, give := make(chan struct{}), make(chan struct{})
	v.Public("large", func() string {
		close(called)
		<-give
		return manifest.String()
	})
	v.Learn("large", "secret ns/large", values...)
	v.Learn("other", "secret ns/other", "hunter2hunter2")
	done := make(chan string)
	go func() { done <- v.Text("large", "it is aaaaaaaa0007 and more") }()
	<-called
	// While its secrets are computed, others publish and learn, and values of this owner can be learned.
	if got := v.Text("other", "it is hunter2hunter2"); strings.Contains(got, "hunter2") {
		t.Errorf("shown: %q", got)
	}
	v.Learn("large", "secret ns/more", "hunter3hunter3")
	v.Public("large", manifest.String)
	close(give)
	if got := <-done; strings.Contains(got, "0007") {
		t.Errorf("shown: %q", got)
	}
	if got := v.Text("large", "it is hunter3hunter3"); strings.Contains(got, "hunter3") {
		t.Errorf("shown: %q", got)
	}
}

func TestWordsIn(t *testing.T) {
	values := []string{"postgres", "abc", "5432", " trimmed-value\n", "not here at all", "a b", "x", "ostgre"}
	got := wordsIn(`{"user":"postgres","port":5432,"v":"xtrimmed-valuex","s":"a b","t":"abcd"}`, values)
	want := map[string]bool{"postgres": true, "5432": true, "trimmed-value": true, "a b": true}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
