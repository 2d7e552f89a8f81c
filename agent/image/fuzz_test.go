package image

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// FuzzParseName parses images that a pod's author wrote.
func FuzzParseName(f *testing.F) {
	for _, s := range []string{
		"", "busybox", "busybox:1", "shop/web@sha256:" + strings.Repeat("a", 64), "registry:5000/a/b:c@sha256:" + strings.Repeat("0", 64), "[::1]:5000/x", "A/b", "a//b",
		"docker.io/library/x", "localhost/x", strings.Repeat("a/", 200) + "b", "x:" + strings.Repeat("t", 200), "x@md5:d", "\xff", "sha256:" + strings.Repeat("f", 64),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, image string) {
		n, err := ParseName(image)
		if err != nil {
			return
		}
		if n.Repository == "" || n.Tag == "" && n.Digest == "" || !strings.HasPrefix(n.Image, image) || len(n.Image) > len(image)+len(":latest") {
			t.Fatalf("%+v of %q", n, image)
		}
		again, err := ParseName(n.Image)
		if err != nil || again.Repository != n.Repository || again.Tag != n.Tag || again.Digest != n.Digest || again.Image != n.Image {
			t.Fatalf("%+v became %+v, %v", n, again, err)
		}
		// Credentials for exactly this repository are found.
		if !Fits(place(n.Repository), n.Repository) && !strings.HasPrefix(n.Repository[strings.IndexByte(n.Repository, '/')+1:], "v1/") &&
			!strings.HasPrefix(n.Repository[strings.IndexByte(n.Repository, '/')+1:], "v2/") {
			t.Fatalf("%s does not fit itself", n.Repository)
		}
	})
}

// FuzzFits matches keys of credentials, which authors of pull secrets choose, with repositories.
func FuzzFits(f *testing.F) {
	for _, s := range []string{
		"", "registry.example.com", "*.example.com", "*.example.com:5000/a", "r*g.e?.com", "[a", "*.*.*", "index.docker.io", "[::1]:5000", `\`, "a..b", strings.Repeat("*a", 100), "/",
	} {
		f.Add(s, "registry.example.com/a/b")
		f.Add(s, "docker.io/library/x")
	}
	f.Fuzz(func(t *testing.T, pattern, repository string) {
		got := Fits(pattern, repository)
		host, path, _ := strings.Cut(repository, "/")
		wantHost, wantPath, _ := strings.Cut(pattern, "/")
		sameHost := strings.TrimSuffix(wantHost, ":") == strings.TrimSuffix(host, ":") // a colon without a port means no port
		switch {
		case !got && pattern == repository:
			t.Fatal("it does not fit itself")
		case got && !strings.HasPrefix(path, wantPath):
			t.Fatal("another path")
		case got && !strings.ContainsAny(wantHost, `*?[\`) && !sameHost:
			t.Fatal("another host, without a wildcard")
		case got && strings.Count(strings.SplitN(wantHost, ":", 2)[0], ".") != strings.Count(strings.SplitN(host, ":", 2)[0], "."):
			t.Fatal("a wildcard stands for more than one part of the host")
		case got && wantHost != host && afterColon(wantHost) != afterColon(host):
			t.Fatal("another port")
		}
		logins := Logins{}
		logins.Add(map[string]Login{pattern: {Username: "u"}, "other.example": {Username: "o"}}, Credential{})
		for _, c := range logins.Lookup(repository) {
			if c.Auth == nil || c.Hash == "" {
				t.Fatalf("%+v", c)
			}
		}
	})
}

func afterColon(s string) string {
	_, after, _ := strings.Cut(s, ":")
	return after
}

// FuzzDockerConfig reads docker configs, which are secrets: errors do not quote them.
func FuzzDockerConfig(f *testing.F) {
	for _, s := range []string{
		"", "{}", `{"auths":{"https://registry.example.com/v2/":{"auth":"dXNlcjpodW50ZXIy"}}}`, `{"auths":{"a":{"auth":"not base64 hunter2"}}}`,
		`{"registry.example.com":{"username":"u","password":"hunter2hunter2","email":"e"}}`, `{"auths":{"a":{"auth":"dXNlcg=="}}}`, `{"auths":[1]}`, `{"auths":{"a":null}}`,
		`{"auths":{"":{"auth":"Og=="}},"credsStore":"x"}`, `{"auths":{"a":{"auth":{"hunter2":1}}}}`,
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, old bool) {
		entries, err := parseDockerConfig("the file", raw, old)
		if err != nil {
			saysNoSecret(t, err.Error(), raw)
			return
		}
		for host, l := range entries {
			if l.Auth != "" {
				t.Fatalf("%q: auth was not taken apart", host)
			}
		}
		// Written in the new form, it has the same meaning.
		type login struct {
			Username string `json:"username"`
			Password string `json:"password"`
			Email    string `json:"email"`
		}
		auths := map[string]login{}
		for host, l := range entries {
			auths[host] = login{l.Username, l.Password, l.Email}
		}
		text, err := json.Marshal(map[string]any{"auths": auths})
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseDockerConfig("it", text, false)
		if err != nil || len(again) != len(entries) {
			t.Fatalf("%d entries became %d, %v", len(entries), len(again), err)
		}
		logins := Logins{}
		logins.Add(entries, Credential{})
		n := 0
		for _, l := range logins {
			n += len(l)
		}
		if n != len(entries) || len(logins.Lookup("registry.example.com/a")) > n {
			t.Fatalf("%d logins of %d entries", n, len(entries))
		}
	})
}

// saysNoSecret fails if a message has a value of the JSON that is as long as a password.
func saysNoSecret(t *testing.T, message string, raw []byte) {
	t.Helper()
	var tree any
	if json.Unmarshal(raw, &tree) != nil {
		return
	}
	keys, values := []string{}, []string{}
	var visit func(any)
	visit = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, child := range v {
				keys = append(keys, k)
				visit(child)
			}
		case []any:
			for _, child := range v {
				visit(child)
			}
		case string:
			values = append(values, v)
		}
	}
	visit(tree)
	for _, v := range values {
		named := slices.ContainsFunc(keys, func(k string) bool { return strings.Contains(k, v) }) || strings.Contains("the file: auths[].auth must be base64 of user:password is not a docker config: not the JSON expected", v)
		if len(v) > 4 && !named && strings.Contains(message, v) {
			t.Fatalf("%q has the value %q", message, v)
		}
	}
}
