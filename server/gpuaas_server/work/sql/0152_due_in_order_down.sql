DROP INDEX work_items_in_order;
