package redact

import (
	"errors"
	"fmt"
	"net/url"
)

// URL returns a URL as people may see it: without user, query and fragment, which may be credentials. Of what is no URL
// only that is said.
func URL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(not a URL)"
	}
	if u.Opaque != "" {
		return u.Scheme + ":" + Mark
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return shown.String()
}

// URLError returns an error of net/http or net/url without what it says of the URL, whose text it would quote whole.
// The error that it wraps stays.
func URLError(err error) error {
	var u *url.Error
	if !errors.As(err, &u) {
		return err
	}
	return fmt.Errorf("%s %q: %w", u.Op, URL(u.URL), URLError(u.Err))
}

// URLSecrets are what a URL says of who asks: what [Vault.Learn] takes. A query is only never shown; what it holds may
// be said elsewhere, as a node's name.
func URLSecrets(raw string) []string {
	u, err := url.Parse(raw)
	if err != nil || u.User == nil {
		return nil
	}
	password, _ := u.User.Password()
	return []string{u.User.Username(), password, u.User.String()}
}
