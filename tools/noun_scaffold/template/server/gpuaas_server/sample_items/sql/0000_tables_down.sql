DROP TABLE sample_items;
