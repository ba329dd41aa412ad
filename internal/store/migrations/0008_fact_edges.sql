-- The edge from a fact to the result in which it was read is the fact's episode_id. It was stored a second time, which cost as many pages as the fact itself.

DELETE FROM dependency_graph_edge
WHERE kind = 'derived_from' AND from_id IN (SELECT fact_id FROM symbolic_fact);
