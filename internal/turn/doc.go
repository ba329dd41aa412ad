// Package turn makes a valid chat of recorded episodes: it decides how each one is rendered, records that decision, and renders it again byte for byte.
package turn
