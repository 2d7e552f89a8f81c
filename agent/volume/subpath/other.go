//go:build !linux

package subpath

import "errors"

func prepare(string, string, string, string) (string, bool, error) {
	return "", false, errors.New("subPath mounts need Linux")
}

func clean(string, string) error { return nil }
