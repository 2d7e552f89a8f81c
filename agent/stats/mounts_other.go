//go:build !linux

package stats

// blockMounts returns nothing: no containers run on these platforms.
func blockMounts(string) []blockMount { return nil }
