DROP TABLE provided_apps;
