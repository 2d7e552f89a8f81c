package image

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
)

// hub is the name of docker's default registry in docker configs.
const hub = "index.docker.io"

// Logins are credentials by registry: a host or host/path.
//
// Upstream: pkg/credentialprovider/keyring.go, BasicDockerKeyring.
type Logins map[string][]Credential

// Add adds the entries of one docker config. From is their origin.
func (l Logins) Add(entries map[string]Login, from Credential) {
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		p := place(key)
		l[p] = append(l[p], entries[key].credential(from))
	}
}

// Lookup returns the credentials of all entries that match a repository, the more specific first, then in the order in
// which they were added. Docker's own name for its default registry matches if no other entry does.
func (l Logins) Lookup(repository string) []Credential {
	var found []Credential
	for _, p := range slices.SortedFunc(maps.Keys(l), func(a, b string) int { return cmp.Compare(b, a) }) {
		if Fits(p, repository) {
			found = append(found, l[p]...)
		}
	}
	if len(found) == 0 && strings.HasPrefix(repository, "docker.io/") {
		return l[hub]
	}
	return found
}

// place normalizes an entry's name to host or host/path, for example https://registry.example.com/v2/ to
// registry.example.com.
func place(key string) string {
	key = strings.TrimPrefix(strings.TrimPrefix(key, "https://"), "http://")
	host, p, _ := strings.Cut(key, "/")
	if first, rest, ok := strings.Cut(p, "/"); ok && (first == "v1" || first == "v2") {
		p = rest
	}
	if p == "" {
		return host
	}
	return host + "/" + p
}

// Fits reports whether an entry for pattern applies to a repository: the same port, matching parts of the host (* matches any), and a path
// that is a prefix of the repository's.
func Fits(pattern, repository string) bool {
	wantHost, wantPath, _ := strings.Cut(pattern, "/")
	host, repo, _ := strings.Cut(repository, "/")
	if !strings.HasPrefix(repo, wantPath) {
		return false
	}
	if wantHost == host { // IPv6 addresses match only like this
		return true
	}
	wantHost, wantPort, _ := strings.Cut(wantHost, ":")
	host, port, _ := strings.Cut(host, ":")
	if wantPort != port {
		return false
	}
	wantParts, parts := strings.Split(wantHost, "."), strings.Split(host, ".")
	if len(wantParts) != len(parts) {
		return false
	}
	for i, part := range parts {
		if ok, err := path.Match(wantParts[i], part); err != nil || !ok {
			return false
		}
	}
	return true
}
