DROP TABLE terminals;
DROP FUNCTION keep_ended_terminal();
