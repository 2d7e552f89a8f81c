package redact

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// URL returns a URL in its redacted form: without user, query and fragment, which may be credentials. If the text is not a URL, the
// result only says so.
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

// URLError returns an error of net/http or net/url without the credentials of the URL that its text would quote. It wraps the same error.
func URLError(err error) error {
	var u *url.Error
	if !errors.As(err, &u) {
		return err
	}
	return fmt.Errorf("%s %q: %w", u.Op, URL(u.URL), URLError(u.Err))
}

// URLSecrets returns the credentials in a URL, for [Vault.Learn]. A query is never shown, but is not a credential: its values, such as a
// node's name, can occur elsewhere. A URL may lack its scheme, as net/http accepts for a proxy. If the text is not a URL, the part before
// the last "@" is returned, because an error would quote it.
func URLSecrets(raw string) []string {
	whole := raw
	if !strings.Contains(raw, "://") {
		whole = "http://" + raw
	}
	u, err := url.Parse(whole)
	switch at := strings.LastIndex(whole, "@"); {
	case err == nil && u.User != nil:
		password, _ := u.User.Password()
		return []string{u.User.Username(), password, u.User.String()}
	case err != nil && at >= 0:
		_, user, _ := strings.Cut(whole[:at], "://")
		name, password, _ := strings.Cut(user, ":")
		return []string{name, password, user}
	}
	return nil
}
