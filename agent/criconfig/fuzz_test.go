package criconfig

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// FuzzEnvFile parses a file that a container may have written, and compares with a parser that works line by line.
func FuzzEnvFile(f *testing.F) {
	for _, text := range []string{
		"", "X='v'", "# c\n\n  \t# d\n  X='v' # why\n", "Y='1\nX=2'\nX='a\nb'\n", "X='a'\r\n", "X= 'v'\nX='2'", "X ='v'\n", "X\n", "='v'\n", "X=v\n",
		"X='v\n", "X='v'w\n", "a'b='c'\nX='='", "A='1'X='2'", "X='\r\r\n\r'", "\xff='\x00'\nX=''", "X='" + strings.Repeat("\n", 100),
	} {
		f.Add(text, "X")
	}
	f.Fuzz(func(t *testing.T, text, key string) {
		if len(text) > 1<<14 {
			return // the other parser is quadratic
		}
		want, bad := lineByLine(text, key)
		file := newEnvFile(text)
		got, err := file.value(key)
		if (err != nil) != bad || !bad && got != want {
			t.Fatalf("%q, %v; want %q, failed %v", got, err, want, bad)
		}
		for range 2 { // again, and after another name
			if again, err2 := file.value(key); again != got || (err == nil) != (err2 == nil) {
				t.Fatalf("%q, %v the second time", again, err2)
			}
			_, _ = file.value("other")
		}
		if len(got) > len(text) || file.line > strings.Count(text, "\n")+1 {
			t.Fatalf("%d bytes, line %d of %d bytes", len(got), file.line, len(text))
		}
	})
}

// lineByLine parses an environment file as documented for fileKeyRef.
func lineByLine(text, key string) (value string, bad bool) {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for i := 0; i < len(lines); i++ {
		line := strings.TrimLeft(lines[i], " \t")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, rest, ok := strings.Cut(line, "=")
		if !ok || name == "" || strings.HasSuffix(name, " ") || strings.HasSuffix(name, "\t") || rest == "" {
			return "", true
		}
		switch rest[0] {
		case ' ', '\t':
			if name == key {
				return "", false
			}
			continue
		case '\'':
		default:
			return "", true
		}
		value := rest[1:]
		for !strings.Contains(value, "'") {
			if i++; i == len(lines) {
				return "", true
			}
			value += "\n" + lines[i]
		}
		value, after, _ := strings.Cut(value, "'")
		if after = strings.TrimLeft(after, " \t"); after != "" && after[0] != '#' {
			return "", true
		}
		if name == key {
			return value, false
		}
	}
	return "", false
}

// FuzzExpand replaces references in a pod author's text, and compares with an implementation that works byte by byte.
func FuzzExpand(f *testing.F) {
	for _, text := range []string{
		"", "$(A)", "$$(A)", "$$$(A)$", "$(B)$(A)$(A)", "$(", "$()", "$(A", "$(A$(B)", "$A$(A)", "$(C)", "a$(A)b$$", "$$$$$(", "$(A)$(x\xff)$\xff", "((A))$)",
		strings.Repeat("$(", 50), strings.Repeat("$(A)", 50),
	} {
		f.Add(text, "value", "$(A)", 1<<10)
		f.Add(text, strings.Repeat("x", 100), "", 150)
	}
	f.Fuzz(func(t *testing.T, text, a, b string, limit int) {
		values := map[string]string{"A": a, "B": b, "": "none"}
		limit = min(max(limit, 0), 1<<20)
		want := byteByByte(text, values)
		e := expander{lookup: lookupIn(values), left: limit}
		got, ok := e.expand(text)
		if ok != (len(want) <= limit) || ok && (got != want || e.left != limit-len(want)) || len(got) > limit {
			t.Fatalf("%q, %v, %d left of %d; want %q", got, ok, e.left, limit, want)
		}
		// A list shares one budget.
		e = expander{lookup: lookupIn(values), left: limit}
		list, i, ok := e.expandAll([]string{text, text})
		switch {
		case ok != (2*len(want) <= limit):
			t.Fatalf("twice: %v", ok)
		case ok && !slices.Equal(list, []string{want, want}), !ok && (i == 0) != (len(want) > limit):
			t.Fatalf("twice: %q, %d", list, i)
		}
	})
}

// byteByByte expands as documented for EnvVar.value.
func byteByByte(text string, values map[string]string) string {
	out := ""
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '$' || i+1 == len(text):
			out += text[i : i+1]
		case text[i+1] == '$':
			out += "$"
			i++
		case text[i+1] == '(':
			end := strings.IndexByte(text[i:], ')')
			if end < 0 {
				out += "$"
				continue
			}
			name := text[i+2 : i+end]
			if value, ok := values[name]; ok {
				out += value
			} else {
				out += "$(" + name + ")"
			}
			i += end
		default:
			out += "$"
		}
	}
	return out
}

// FuzzResolvConf parses the node's resolver configuration, which root wrote, and computes a pod's from it.
func FuzzResolvConf(f *testing.F) {
	for _, text := range []string{
		"", "nameserver 10.0.0.10\nsearch a.example. b.example .\noptions ndots:5 edns0 ndots:2\n", "nameserver\n", "search\nsearch x\nsearch\n", "# c\n;d\nsortlist x",
		"nameserver fe80::1%eth0 more\r\n", "options a:b:c a::\n", "search " + strings.Repeat("long.example ", 400), strings.Repeat("nameserver 1.1.1.1\n", 9), "options \u2028x\xff",
	} {
		f.Add(text, "ndots:1", "extra.example")
	}
	f.Fuzz(func(t *testing.T, text, option, search string) {
		host, err := ParseResolvConf([]byte(text))
		if err != nil {
			return
		}
		if n := strings.Count(text, "nameserver"); len(host.Nameservers) > n {
			t.Fatalf("%d nameservers of %d", len(host.Nameservers), n)
		}
		noTwice(t, host.Options)
		// The result is parsed the same again.
		again, err := ParseResolvConf([]byte("nameserver " + strings.Join(host.Nameservers, "\nnameserver ") + " \noptions " + strings.Join(host.Options, " ")))
		if len(host.Nameservers) > 0 && (err != nil || !slices.Equal(again.Nameservers, host.Nameservers) || !slices.Equal(again.Options, host.Options)) {
			t.Fatalf("%+v became %+v, %v", host, again, err)
		}
		pod := &v1.Pod{Spec: v1.PodSpec{DNSPolicy: v1.DNSDefault, DNSConfig: &v1.PodDNSConfig{
			Searches: []string{search, search}, Options: []v1.PodDNSConfigOption{{Name: option}},
		}}}
		before := slices.Clone(host.Options)
		for _, policy := range []v1.DNSPolicy{v1.DNSDefault, v1.DNSClusterFirst, v1.DNSNone} {
			pod.Spec.DNSPolicy = policy
			cfg, _ := DNS(pod, DNSInput{Host: host, ClusterDNS: []string{"10.96.0.10"}, ClusterDomain: "cluster.local"})
			noTwice(t, cfg.Options)
			if len(cfg.Servers) > maxNameservers || len(cfg.Searches) > MaxSearches || len(strings.Join(cfg.Searches, " ")) > MaxSearchLine {
				t.Fatalf("%s: more than resolvers take: %v", policy, cfg)
			}
		}
		if !slices.Equal(before, host.Options) {
			t.Fatal("the node's configuration was changed")
		}
	})
}

func noTwice(t *testing.T, options []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, o := range options {
		name, _, _ := strings.Cut(o, ":")
		if seen[name] {
			t.Fatalf("option %q is there twice: %q", name, options)
		}
		seen[name] = true
	}
}
