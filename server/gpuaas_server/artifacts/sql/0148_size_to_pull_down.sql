DROP FUNCTION artifact_size_to_pull(text);
