"""Grade students' notebooks: python -m course_lib.staff.grade SUBMISSIONS -o REPORT.

The verdict is made where no student's code has ever run. A judge holds the checks, the true values and the seed; a
confined process holds torch and one student's cells. They exchange frames of plain data.
"""
