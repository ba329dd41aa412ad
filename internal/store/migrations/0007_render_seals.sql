-- What a session's rendering is read from gets a seal as the record has one. NULL is a row that was written before there were seals.
ALTER TABLE render_state ADD COLUMN seal INTEGER;
ALTER TABLE render_decision ADD COLUMN seal INTEGER;
ALTER TABLE receipt ADD COLUMN seal INTEGER;
ALTER TABLE folds ADD COLUMN seal INTEGER;
